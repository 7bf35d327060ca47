//! The steps that a random program is made of.

use entigrad::prelude::*;

use super::{Program, broadcast};

impl<'t> Program<'t> {
    /// Adds one value, of what there is.
    pub(super) fn step(&mut self) {
        let value = match self.random.below(16) {
            0 | 1 => self.arithmetic(),
            2 => self.function_of_one(),
            3 => self.choice(),
            4 => self.comparison(),
            5 | 6 => self.reduction(),
            7 | 8 => self.view(),
            9 => self.repeated(),
            10 | 11 => self.product(),
            12 => self.indexed(),
            13 => self.cast(),
            14 => self.composition(),
            _ => self.constant(),
        };
        self.values.push(value);
    }

    fn arithmetic(&mut self) -> Value<'t> {
        let x = self.number();
        let y = self.partner(x);
        match self.random.below(6) {
            0 => x + y,
            1 => x - y,
            2 => x * y,
            3 => x.maximum(y),
            4 if x.dtype().is_float() => x / (y * y + 0.5),
            4 => x / 3 + y,
            // What may become one instruction.
            _ => x * y + x,
        }
    }

    fn function_of_one(&mut self) -> Value<'t> {
        let x = self.float();
        match self.random.below(9) {
            0 => x.sin(),
            1 => x.cos() * 0.5,
            2 => x.tanh(),
            3 => x.tanh().exp(),
            4 => (x.square() + 0.5).log(),
            5 => (x.square() + 0.25).sqrt(),
            6 => -x,
            7 => x.relu(),
            _ => x.sigmoid(),
        }
    }

    fn comparison(&mut self) -> Value<'t> {
        let x = self.any();
        let y = self.partner(x);
        match self.random.below(4) {
            0 if x.dtype() != DType::Bool => x.less(y),
            1 if x.dtype() != DType::Bool => x.less_equal(y),
            2 if x.dtype() != DType::Bool => x.greater(y),
            _ => x.equal(y),
        }
    }

    fn choice(&mut self) -> Value<'t> {
        let x = self.any();
        let y = self.partner(x);
        let both = broadcast(&x.shape(), &y.shape()).unwrap();
        let condition = self.any_where(|dtype| dtype == DType::Bool, DType::Bool);
        match broadcast(&condition.shape(), &both) {
            Some(dims) if self.is_small(&dims) => condition.select(x, y),
            _ => x.equal(y).select(x, y),
        }
    }

    fn reduction(&mut self) -> Value<'t> {
        let x = self.number();
        let axes = match self.random.below(3) {
            // Nothing is the greatest of nothing.
            0 => {
                let axes = self.axes(x, |length| length == 0);
                return x.max_over(&axes);
            }
            _ => self.axes(x, |_| false),
        };
        if x.dtype().is_float() && self.random.below(2) == 0 { x.mean_over(&axes) } else { x.sum_over(&axes) * 2 }
    }

    fn view(&mut self) -> Value<'t> {
        let x = self.any();
        let dims: Vec<Dim> = x.shape().to_vec();
        match self.random.below(5) {
            0 => x.reshape([x.shape().count()]),
            1 if dims.len() >= 2 => {
                // Two neighbours become one.
                let axis = self.random.below(dims.len() - 1);
                let merged = &dims[axis] * &dims[axis + 1];
                let rest = [&dims[..axis], &[merged], &dims[axis + 2..]].concat();
                x.reshape(rest)
            }
            2 => {
                let axis = self.random.below(dims.len() + 1);
                x.reshape([&dims[..axis], &[Dim::from(1)], &dims[axis..]].concat())
            }
            3 => x.reshape(dims.into_iter().filter(|dim| !dim.is_one()).collect::<Vec<_>>()),
            _ => {
                let mut order: Vec<usize> = (0..dims.len()).collect();
                for place in (1..order.len()).rev() {
                    order.swap(place, self.random.below(place + 1));
                }
                x.transpose(&order)
            }
        }
    }

    /// Repeated along a new axis or along one of length 1.
    fn repeated(&mut self) -> Value<'t> {
        let (x, like) = (self.any(), self.any());
        let mut dims: Vec<Dim> = x.shape().to_vec();
        let length = like.shape().first().cloned().unwrap_or(Dim::from(3));
        match dims.iter().position(Dim::is_one) {
            Some(axis) if self.random.below(2) == 0 => dims[axis] = length,
            _ => dims.insert(0, length),
        }
        if self.is_small(&dims.clone().into()) { x.broadcast(dims) } else { x }
    }

    fn product(&mut self) -> Value<'t> {
        let x = self.number();
        if x.rank() == 0 {
            return self.arithmetic();
        }
        for _ in 0..16 {
            let (y, flags) = (self.any(), [self.random.below(2) == 0, self.random.below(2) == 0]);
            if self.is_product(&x.shape(), &y.shape(), flags) {
                return self.after_product(x.matmul_with(y.cast(x.dtype()), flags[0], flags[1]));
            }
        }
        // With itself, on the left as it lies: what it has in its last axis fits.
        let dims = x.shape();
        if dims.len() == 1 || self.is_product(&dims, &dims, [false, true]) {
            return self.after_product(x.matmul_with(x, false, true));
        }
        let row = x.sum_over(&(0..dims.len() - 1).collect::<Vec<_>>());
        self.after_product(x.matmul(row))
    }

    /// What may be done along with a product, while it is at hand.
    fn after_product(&mut self, product: Value<'t>) -> Value<'t> {
        if self.random.below(2) == 0 {
            return product;
        }
        let biased = product + self.partner(product);
        match self.random.below(3) {
            0 if biased.dtype().is_float() => biased.tanh(),
            1 => biased.maximum(0),
            _ => biased,
        }
    }

    /// Whether these dims make a product that is small enough.
    fn is_product(&self, left: &Dims, right: &Dims, [is_left_turned, is_right_turned]: [bool; 2]) -> bool {
        if left.is_empty() || right.is_empty() {
            return false;
        }
        let matrix = |dims: &Dims, is_turned: bool| {
            let [.., first, second] = &dims[..] else { return [Dim::from(1), Dim::from(1)] };
            if is_turned { [second.clone(), first.clone()] } else { [first.clone(), second.clone()] }
        };
        let batch = |dims: &Dims| dims.iter().take(dims.len().saturating_sub(2)).cloned().collect::<Dims>();
        let [rows, left_inner] = match left.len() {
            1 => [Dim::from(1), left[0].clone()],
            _ => matrix(left, is_left_turned),
        };
        let [right_inner, columns] = match right.len() {
            1 => [right[0].clone(), Dim::from(1)],
            _ => matrix(right, is_right_turned),
        };
        let Some(batch) = broadcast(&batch(left), &batch(right)) else { return false };
        let all: Dims = batch.iter().chain([&rows, &columns]).cloned().collect();
        let work = self.length(&all) * left_inner.evaluate(&self.symbols).unwrap();
        left_inner == right_inner && self.is_small(&all) && work < 100_000
    }

    /// Elements taken at places, or added there.
    fn indexed(&mut self) -> Value<'t> {
        let x = self.any();
        let lengths = self.shape(x);
        let axes: Vec<usize> = (0..x.rank()).filter(|axis| lengths[*axis] > 0).collect();
        if axes.is_empty() {
            return self.arithmetic();
        }
        let axis = axes[self.random.below(axes.len())];
        // Places that depend on the elements, as many as they are or one along the axis.
        let length = self.t.length(&x.shape()[axis], DType::F64);
        let chance = (x.cast(DType::F64) * 7.0).sin();
        let places = ((chance + 1.0) * 0.499 * length).cast(DType::I32);
        let places = if self.random.below(2) == 0 {
            places
        } else {
            let kept: Vec<Dim> =
                x.shape().iter().enumerate().map(|(at, dim)| if at == axis { 1.into() } else { dim.clone() }).collect();
            places.max_over(&[axis]).reshape(kept)
        };
        if x.dtype() != DType::Bool && self.random.below(3) == 0 {
            let updates = x.gather(places, axis) * 2;
            return x.scatter_add(places, updates, axis);
        }
        x.gather(places, axis)
    }

    fn cast(&mut self) -> Value<'t> {
        let x = self.any();
        let dtype = [DType::F32, DType::F64, DType::I32, DType::Bool][self.random.below(4)];
        let is_cut = x.dtype().is_float() && dtype == DType::I32;
        if is_cut { (x * 10.0).cast(dtype) } else { x.cast(dtype) }
    }

    fn composition(&mut self) -> Value<'t> {
        let x = self.float();
        let lengths = self.shape(x);
        let axes: Vec<usize> = (0..x.rank()).filter(|axis| lengths[*axis] > 0).collect();
        if axes.is_empty() {
            return x.stop_gradient() + x;
        }
        let axis = axes[self.random.below(axes.len())];
        let kept: Vec<Dim> =
            x.shape().iter().enumerate().map(|(at, dim)| if at == axis { 1.into() } else { dim.clone() }).collect();
        match self.random.below(3) {
            0 => x.tanh().log_softmax(axis),
            1 => x - x.mean_over(&[axis]).reshape(kept),
            _ => {
                let centred = x - x.mean_over(&[axis]).reshape(kept.clone());
                centred / (centred.square().mean_over(&[axis]).reshape(kept) + 0.01).sqrt()
            }
        }
    }

    fn constant(&mut self) -> Value<'t> {
        match self.random.below(3) {
            0 => {
                let x = self.float();
                let number = self.random.uniform(-1.0, 1.0);
                x + self.t.constant(Tensor::from(number)).cast(x.dtype())
            }
            1 => {
                let like = self.any();
                let dim = like.shape().first().cloned().unwrap_or(Dim::from(2));
                self.t.iota([dim])
            }
            _ => {
                let x = self.number();
                x.literal(2.0) - x
            }
        }
    }
}
