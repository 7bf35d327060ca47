//! Variables of random programs: in a world, or, for the plain counterpart of a program, as values handed in and out.

use entigrad::prelude::*;

use super::Program;

/// What a program reads and assigns.
#[derive(Clone, Debug)]
pub enum State<'t> {
    /// Nothing.
    None,
    /// Variables of a world, and a function that counts in the last of them.
    Variables(Vec<VariableId>, Function<Tensor, Tensor>),
    /// Values that stand for variables.
    Values(Vec<Value<'t>>),
}

/// The variables as they are at first: some of one spec, which can change places.
pub fn initial() -> Vec<Tensor> {
    let matrix = |first: f64| {
        let numbers: Vec<f64> = (0..12).map(|place| first + f64::from(place) * 0.125).collect();
        Tensor::new(&[4, 3], &numbers).unwrap()
    };
    let vector: Vec<f32> = (0..17).map(|place| place as f32 * 0.25 - 2.0).collect();
    let other: Vec<f32> = (0..17).map(|place| 1.0 - place as f32 * 0.125).collect();
    vec![matrix(-1.0), matrix(0.5), matrix(-0.25), vector.into(), other.into(), Tensor::from(3_i32)]
}

/// Counts in a variable, and multiplies by something of the count: called inside of programs.
pub fn counter<'t>(t: Trace<'t>, variable: VariableId, x: Value<'t>) -> Value<'t> {
    let (next, y) = counted(t.read(variable), x);
    t.assign(variable, next);
    y
}

fn counted<'t>(count: Value<'t>, x: Value<'t>) -> (Value<'t>, Value<'t>) {
    let next = count + 1;
    (next, x * next.cast(x.dtype()).sin())
}

impl<'t> Program<'t> {
    fn variable_count(&self) -> usize {
        match &self.state {
            State::None => 0,
            State::Variables(variables, _) => variables.len(),
            State::Values(values) => values.len(),
        }
    }

    fn read(&self, place: usize) -> Value<'t> {
        match &self.state {
            State::None => panic!("there are no variables"),
            State::Variables(variables, _) => self.t.read(variables[place]),
            State::Values(values) => values[place],
        }
    }

    fn assign(&mut self, place: usize, value: Value<'t>) {
        match &mut self.state {
            State::None => panic!("there are no variables"),
            State::Variables(variables, _) => self.t.assign(variables[place], value),
            State::Values(values) => values[place] = value,
        }
    }

    /// Another variable of the same spec, or the same one.
    fn other(&mut self, place: usize) -> usize {
        let spec = self.read(place).spec();
        let others: Vec<usize> = (0..self.variable_count()).filter(|other| self.read(*other).spec() == spec).collect();
        others[self.random.below(others.len())]
    }

    /// Reads or assigns a variable, in one of many ways.
    pub(super) fn touch_state(&mut self) {
        if matches!(self.state, State::None) {
            return;
        }
        let place = self.random.below(self.variable_count());
        let other = self.other(place);
        let value = self.read(place);
        match self.random.below(10) {
            0 => self.values.push(value),
            1 => {
                // Both change places.
                let (left, right) = (self.read(place), self.read(other));
                self.assign(place, right);
                self.assign(other, left);
            }
            2 => {
                let copied = self.read(other);
                self.assign(place, copied);
            }
            3 => {
                // What is assigned twice was assigned the first value in between.
                let next = self.next(place);
                self.assign(place, next);
                let next = self.next(place);
                self.values.push(next);
                self.assign(place, next);
            }
            4 if value.rank() == 2 => {
                let turned = value.transpose(&[1, 0]).reshape(value.shape());
                self.assign(place, turned);
            }
            5 => {
                // One value for two variables.
                let next = self.next(place);
                self.assign(place, next);
                self.assign(other, next);
            }
            6 => {
                let x = self.float();
                let y = match &mut self.state {
                    State::None => x,
                    State::Variables(_, counter) => self.t.call(*counter, x),
                    State::Values(values) => {
                        let last = values.len() - 1;
                        let (next, y) = counted(values[last], x);
                        values[last] = next;
                        y
                    }
                };
                self.values.push(y);
            }
            7 => {
                let constant = self.t.constant(initial()[place].clone());
                self.assign(place, constant);
            }
            _ => {
                let next = self.next(place);
                self.assign(place, next);
            }
        }
    }

    /// A value for a variable: of itself and of what is computed.
    fn next(&mut self, place: usize) -> Value<'t> {
        let value = self.read(place);
        let any = self.any();
        let change = self.summary(any).tanh();
        if value.dtype().is_float() {
            value * 0.75 + change.cast(value.dtype())
        } else {
            value + (change * 8.0).cast(DType::I32)
        }
    }
}
