//! Functions written in terms of rows: their gradients come along. Every op of one says the place where the user called it.

use entigrad_components::{DType, Dim, Dims, Origin};

use super::{Operand, Value};

impl<'t> Value<'t> {
    /// The mean of all elements; NaN of none.
    #[track_caller]
    pub fn mean(self) -> Self {
        self.mean_over(&self.all_axes())
    }

    /// The mean over some axes, which are dropped: Σ x / n.
    #[track_caller]
    pub fn mean_over(self, axes: &[usize]) -> Self {
        let origin = Origin::here();
        self.trace().at(origin, || self.sum_over(axes) / self.count_over(axes))
    }

    /// x².
    #[track_caller]
    pub fn square(self) -> Self {
        self * self
    }

    /// max(x, 0), with the gradient 0 at 0.
    #[track_caller]
    pub fn relu(self) -> Self {
        self.maximum(0.0)
    }

    /// 1 / (1 + e⁻ˣ), without overflow and without loss far from 0.
    #[track_caller]
    pub fn sigmoid(self) -> Self {
        let origin = Origin::here();
        // e = exp(-|x|) never overflows; the branch at 0 is smooth in both e/(1+e) and 1/(1+e).
        self.trace().at(origin, || {
            let is_negative = self.less(0.0);
            let e = is_negative.select(self, -self).exp();
            is_negative.select(e, 1.0) / (e + 1.0)
        })
    }

    /// log(softmax(x)) along an axis: x - max - log Σ exp(x - max).
    #[track_caller]
    pub fn log_softmax(self, axis: usize) -> Self {
        let origin = Origin::here();
        self.trace().at(origin, || {
            // The shift cancels, so its gradient is left out rather than computed to be zero.
            let shifted = self - self.max_over(&[axis]).stop_gradient().keep(self, axis);
            shifted - shifted.exp().sum_over(&[axis]).log().keep(self, axis)
        })
    }

    /// The mean over rows of `-log softmax(logits)[label]`: logits `[n, classes]`, labels `i32[n]`. A label that is no class is
    /// an error when it runs.
    #[track_caller]
    pub fn cross_entropy(self, labels: Self) -> Self {
        let origin = Origin::here();
        self.trace().at(origin, || {
            let column: Dims = labels.shape().iter().cloned().chain([Dim::Known(1)]).collect();
            -self.log_softmax(1).gather(labels.reshape(column), 1).mean()
        })
    }

    /// The mean of squared differences.
    #[track_caller]
    pub fn mse(self, target: impl Operand<'t>) -> Self {
        let origin = Origin::here();
        let target = target.operand(self);
        self.trace().at(origin, || (self - target).square().mean())
    }

    /// The place of the greatest element along the last axis of `[n, classes]`, as i32; the first at a tie.
    #[track_caller]
    pub fn argmax_rows(self) -> Self {
        let origin = Origin::here();
        self.trace().at(origin, || {
            let dims = self.shape();
            let classes = dims.last().cloned().unwrap_or(Dim::Known(1));
            let places = self.trace().iota([classes.clone()]).broadcast(dims.clone());
            let is_greatest = self.equal(self.max_over(&[1]).keep(self, 1));
            // The least place among the greatest is minus the greatest of minus the places.
            let count = self.trace().length(&classes, DType::I32);
            -is_greatest.select(-places, -count).max_over(&[1])
        })
    }

    /// This, of a shape without `axis`, with that axis of length 1 put back as it stands in `full`.
    #[track_caller]
    fn keep(self, full: Self, axis: usize) -> Self {
        let lengths = full.shape();
        let kept =
            lengths.iter().enumerate().map(|(place, dim)| if place == axis { Dim::Known(1) } else { dim.clone() });
        self.reshape(kept.collect::<Dims>())
    }
}
