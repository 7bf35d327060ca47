//! What an engine can do, on an [`crate::Engine`] or on any world.

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use entigrad_components::creation::next_creation_index;
use entigrad_components::{
    ConcreteId, FuncGraph, Function, FunctionCache, FunctionName, Gradient, InputSignature, Kind, Model, ModelId,
    Stored, Tensor, TensorSpec, Token, TraceCount, TrainerId, Variable, VariableId, VariableOf, Variables, WeakSource,
};
use entigrad_systems::error::spec_list;
use entigrad_systems::function::{Body, Closure, make_key};
use entigrad_systems::gradient::{Derivation, Sources};
use entigrad_systems::plan::{self, Plans};
use entigrad_systems::structure::{Flattened, Models, Parts};
use entigrad_systems::{Error, Gradients, OpTable, Optimizer, Structure, Trace, TracedModel};
use entigrad_systems::{call, graph, names, optimize, training};

use crate::despawn::Handle;
use crate::training::{TrainerReport, Training, UpdateReport, builder};

/// Autodiff in a world: models and variables, graph functions, gradients, training.
///
/// Implemented by [`crate::Engine`] and by `bevy_ecs::world::World` itself. Functions hold variables weakly: nothing here
/// keeps one alive but the model that owns it.
pub trait Autodiff {
    /// The world.
    fn world(&self) -> &World;
    /// The world, to change.
    fn world_mut(&mut self) -> &mut World;
    /// The world at the beginning of a call: with the engine's resources in it, and swept.
    fn enter(&mut self) -> &mut World;

    /// Spawns a model without variables.
    fn spawn_model(&mut self, name: &str) -> ModelId {
        let world = self.enter();
        let index = next_creation_index(world);
        let entity = world.spawn((Model::new(name), index)).id();
        ModelId::new(world.id(), entity)
    }

    /// Makes an entity of the user's own a model, whatever else it is.
    fn make_model(&mut self, entity: Entity, name: &str) -> Result<ModelId, Error> {
        let world = self.enter();
        let index = next_creation_index(world);
        let gone = Error::gone(Kind::Model, names::remembered(world, entity));
        world.get_entity_mut(entity).map_err(|_| gone)?.insert((Model::new(name), index));
        Ok(ModelId::new(world.id(), entity))
    }

    /// Spawns a variable that `model` owns and training changes. Names are unique within a model and may hold `/`.
    fn variable(&mut self, model: ModelId, name: &str, value: impl Into<Tensor>) -> Result<VariableId, Error> {
        spawn_variable(self.enter(), model, name, value.into(), true)
    }

    /// Spawns a variable that training leaves alone: it is read and assigned, and no gradient is made for it.
    fn non_trainable_variable(
        &mut self,
        model: ModelId,
        name: &str,
        value: impl Into<Tensor>,
    ) -> Result<VariableId, Error> {
        spawn_variable(self.enter(), model, name, value.into(), false)
    }

    /// The value of a variable. Cheap: storage is shared until someone writes.
    fn value(&self, variable: VariableId) -> Result<Tensor, Error> {
        let world = self.world();
        check(world, variable)?;
        let stored = world.get::<Stored>(variable.entity).ok_or_else(|| gone(world, variable))?;
        Ok(stored.0.clone())
    }

    /// Replaces the value of a variable by one of the same spec.
    fn set_value(&mut self, variable: VariableId, value: impl Into<Tensor>) -> Result<(), Error> {
        let (world, value) = (self.enter(), value.into());
        check(world, variable)?;
        check_spec(world, variable, &value)?;
        let gone = gone(world, variable);
        world.get_mut::<Stored>(variable.entity).ok_or(gone)?.0 = value;
        Ok(())
    }

    /// The variables of a model, in creation order.
    fn variables(&self, model: ModelId) -> Result<Vec<VariableId>, Error> {
        let world = self.world();
        check(world, model)?;
        let variables = world.get::<Variables>(model.entity).map(Variables::as_slice).unwrap_or_default();
        Ok(variables.iter().map(|variable| VariableId::new(world.id(), *variable)).collect())
    }

    /// The name of a variable within its model.
    fn variable_name(&self, variable: VariableId) -> Result<String, Error> {
        let world = self.world();
        check(world, variable)?;
        Ok(world.get::<Variable>(variable.entity).ok_or_else(|| gone(world, variable))?.name.as_ref().to_owned())
    }

    /// The variable of this name in a model.
    fn find_variable(&self, model: ModelId, name: &str) -> Result<VariableId, Error> {
        let world = self.world();
        let variables = self.variables(model)?;
        let is_it =
            |variable: &&VariableId| world.get::<Variable>(variable.entity).is_some_and(|found| *found.name == *name);
        variables.iter().find(is_it).copied().ok_or_else(|| {
            let known: Vec<_> =
                variables.iter().filter_map(|id| Some(world.get::<Variable>(id.entity)?.name.clone())).collect();
            let model = world.get::<Model>(model.entity).map(|model| model.name.clone()).unwrap_or_else(|| "?".into());
            let known = entigrad_systems::error::name_list(&known);
            Error::invalid(format!("the model `{model}` has no variable `{name}`; it has {known}"))
        })
    }

    /// Despawns something and what it owns: a model its variables, a function its traces, a trainer its optimiser's state.
    /// Whether it was there.
    fn despawn(&mut self, handle: impl Handle) -> bool {
        let world = self.enter();
        handle.world() == world.id() && world.get_entity(handle.entity()).is_ok() && world.despawn(handle.entity())
    }

    /// A graph function: the body is traced once for each structure, dtype and shape of its arguments. The types of arguments and
    /// result are written out, `function::<Tensor, Tensor>(..)`: a closure does not infer them.
    ///
    /// A traced value ends with its trace; keeping one does not compile:
    ///
    /// ```compile_fail
    /// use entigrad::prelude::*;
    /// use std::cell::RefCell;
    /// thread_local! { static KEPT: RefCell<Option<Value<'static>>> = const { RefCell::new(None) } }
    /// let mut engine = Engine::new();
    /// engine.function::<Tensor, Tensor>("f", |_, x| {
    ///     KEPT.with(|kept| *kept.borrow_mut() = Some(x));
    ///     x
    /// });
    /// ```
    #[track_caller]
    fn function<A: Structure, R: Structure>(
        &mut self,
        name: &str,
        body: impl for<'t> Fn(Trace<'t>, A::Traced<'t>) -> R::Traced<'t> + Send + Sync + 'static,
    ) -> Function<A, R> {
        let closure = Closure::new::<A, R>(body);
        spawn_function(self.enter(), name, closure)
    }

    /// A graph function whose first argument is its model: traced once for each signature of a model, and bound to each
    /// model it is called with.
    #[track_caller]
    fn method<A: Structure, R: Structure>(
        &mut self,
        name: &str,
        body: impl for<'t> Fn(Trace<'t>, TracedModel<'t>, A::Traced<'t>) -> R::Traced<'t> + Send + Sync + 'static,
    ) -> Function<(ModelId, A), R> {
        let closure = Closure::new::<(ModelId, A), R>(move |t, (model, arguments)| body(t, model, arguments));
        spawn_function(self.enter(), name, closure)
    }

    /// Gives a function an input signature: its leaves are traced with these specs, whose dims may be symbols
    /// (`Dim::from("n")`), instead of their own. Symbols of one name must agree at a call. Models are no leaves.
    ///
    /// ```
    /// # use entigrad::prelude::*;
    /// # let mut engine = Engine::new();
    /// let mean = engine.function::<Tensor, Tensor>("mean", |_, x| x.mean_over(&[0]));
    /// engine.set_signature(mean, [TensorSpec::new(DType::F32, [Dim::from("rows"), 2.into()])])?;
    /// assert_eq!(engine.call(mean, [[1.0_f32, 2.0], [3.0, 4.0]].into())?, Tensor::from([2.0_f32, 3.0]));
    /// assert_eq!(engine.call(mean, [[5.0_f32, 6.0]].into())?, Tensor::from([5.0_f32, 6.0]));
    /// assert_eq!(engine.trace_count(mean), 1);
    /// # Ok::<(), Error>(())
    /// ```
    fn set_signature<A, R>(
        &mut self,
        function: Function<A, R>,
        leaves: impl IntoIterator<Item = TensorSpec>,
    ) -> Result<(), Error> {
        let world = self.enter();
        check(world, function)?;
        let gone = gone(world, function);
        let mut entity = world.get_entity_mut(function.entity).map_err(|_| gone)?;
        entity.insert(InputSignature(leaves.into_iter().collect()));
        call::forget_calls(world, function.entity);
        Ok(())
    }

    /// The function that gives a function's result and the gradient of the result's first tensor, a scalar, for every
    /// trainable variable that was read. Asked again, it is the same function.
    ///
    /// ```
    /// # use entigrad::prelude::*;
    /// # let mut engine = Engine::new();
    /// let model = engine.spawn_model("model");
    /// let v = engine.variable(model, "v", 3.0_f64)?;
    /// let square = engine.function::<(), Tensor>("square", move |t, ()| t.read(v).square());
    /// let gradient = engine.value_and_gradient(square)?;
    /// let (value, gradients) = engine.call(gradient, ())?;
    /// assert_eq!(value, Tensor::from(9.0_f64));
    /// assert_eq!(gradients.get(v), Some(&Tensor::from(6.0_f64)));
    /// # Ok::<(), Error>(())
    /// ```
    fn value_and_gradient<A: Structure, R: Structure>(
        &mut self,
        function: Function<A, R>,
    ) -> Result<Function<A, (R, Gradients)>, Error> {
        let derived = derived(self.enter(), function, Derivation::ValueAndGradient(Sources::Variables))?;
        Ok(Function::new(function.world, derived))
    }

    /// The same for every floating point leaf of the arguments: the gradient has the arguments' structure. Leaves of other
    /// dtypes have zeros. A gradient can be called inside another function and differentiated again:
    ///
    /// ```
    /// # use entigrad::prelude::*;
    /// # let mut engine = Engine::new();
    /// let cube = engine.function::<Tensor, Tensor>("cube", |_, x| x * x * x);
    /// let gradient = engine.value_and_gradient_of_arguments(cube)?;
    /// let slope = engine.function::<Tensor, Tensor>("slope", move |t, x| t.call(gradient, x).1);
    /// let second = engine.value_and_gradient_of_arguments(slope)?;
    /// let (slope, curvature) = engine.call(second, Tensor::from(2.0_f64))?;
    /// assert_eq!((slope, curvature), (Tensor::from(12.0_f64), Tensor::from(12.0_f64)));
    /// # Ok::<(), Error>(())
    /// ```
    fn value_and_gradient_of_arguments<A: Structure, R: Structure>(
        &mut self,
        function: Function<A, R>,
    ) -> Result<Function<A, (R, A)>, Error> {
        let derived = derived(self.enter(), function, Derivation::ValueAndGradient(Sources::Arguments))?;
        Ok(Function::new(function.world, derived))
    }

    /// Calls a function. The first call for a key traces and plans it; every call checks the weak references first, and
    /// fails before anything runs where one is stale.
    fn call<A: Structure, R: Structure>(&mut self, function: Function<A, R>, arguments: A) -> Result<R, Error> {
        let world = self.enter();
        check(world, function)?;
        call::call(world, function.entity, arguments)
    }

    /// Calls a function whose result goes where an earlier one is: as long as that has the same structure and specs, and nobody
    /// else shares its tensors, nothing is allocated. What it holds after an error does not matter.
    ///
    /// ```
    /// # use entigrad::prelude::*;
    /// # let mut engine = Engine::new();
    /// let next = engine.function::<Tensor, Tensor>("next", |_, x| x * 0.5 + 1.0);
    /// let (mut x, mut y) = (Tensor::from([0.0_f32; 4]), Tensor::default());
    /// for _ in 0..100 {
    ///     engine.call_into(next, x.clone(), &mut y)?;
    ///     std::mem::swap(&mut x, &mut y);
    /// }
    /// assert_eq!(x, Tensor::from([2.0_f32; 4]));
    /// # Ok::<(), Error>(())
    /// ```
    fn call_into<A: Structure, R: Structure>(
        &mut self,
        function: Function<A, R>,
        arguments: A,
        result: &mut R,
    ) -> Result<(), Error> {
        let world = self.enter();
        check(world, function)?;
        call::call_into(world, function.entity, arguments, result)
    }

    /// Calls a function without changing the world, so that systems that only read it can, on any number of threads at once. The
    /// function was called with arguments like these before, and assigns no variable; else it is an error.
    ///
    /// ```
    /// # use entigrad::prelude::*;
    /// # let mut engine = Engine::new();
    /// let double = engine.function::<Tensor, Tensor>("double", |_, x| x * 2.0);
    /// engine.call(double, Tensor::from(1.0_f32))?;
    /// let engine = &engine;
    /// let doubled = std::thread::scope(|scope| {
    ///     let call = |x: f32| scope.spawn(move || engine.call_shared(double, Tensor::from(x)));
    ///     [call(2.0), call(3.0)].map(|thread| thread.join().unwrap())
    /// });
    /// let [four, six] = doubled;
    /// assert_eq!((four?, six?), (Tensor::from(4.0_f32), Tensor::from(6.0_f32)));
    /// # Ok::<(), Error>(())
    /// ```
    fn call_shared<A: Structure, R: Structure>(&self, function: Function<A, R>, arguments: A) -> Result<R, Error> {
        let world = self.world();
        check(world, function)?;
        call::call_shared(world, function.entity, arguments)
    }

    /// Calls a method for many models at once: every tensor of the arguments has a row for each of them along its first axis, and
    /// so has every tensor of the result. The models have variables of the same names and specs.
    ///
    /// ```
    /// # use entigrad::prelude::*;
    /// # let mut engine = Engine::new();
    /// let brains: Vec<ModelId> = (0..3).map(|_| engine.spawn_model("brain")).collect();
    /// for (place, brain) in brains.iter().enumerate() {
    ///     engine.variable(*brain, "gain", place as f32)?;
    /// }
    /// let act = engine.method::<Tensor, Tensor>("act", |_, brain, seen| seen * brain.read("gain"));
    /// let seen = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// let done = engine.call_many(act, &brains, seen)?;
    /// assert_eq!(done, Tensor::from([[0.0_f32, 0.0], [3.0, 4.0], [10.0, 12.0]]));
    /// # Ok::<(), Error>(())
    /// ```
    fn call_many<A: Structure, R: Structure>(
        &mut self,
        method: Function<(ModelId, A), R>,
        models: &[ModelId],
        arguments: A,
    ) -> Result<R, Error> {
        let world = self.enter();
        check(world, method)?;
        models.iter().try_for_each(|model| check(world, *model))?;
        let models: Vec<Entity> = models.iter().map(|model| model.entity).collect();
        call::call_many(world, method.entity, &models, arguments)
    }

    /// The concrete of a function for arguments like these.
    fn concrete<A: Structure, R: Structure>(
        &mut self,
        function: Function<A, R>,
        arguments: A,
    ) -> Result<ConcreteId, Error> {
        let world = self.enter();
        check(world, function)?;
        let parts = Flattened::of(world, arguments)?;
        let concrete = call::concrete_for(world, function.entity, &parts.tokens, &parts.models)?;
        Ok(ConcreteId::new(world.id(), concrete))
    }

    /// The concrete of a function of tensors, for their specs: one tensor, or a tuple of them.
    fn concrete_for_specs<A: Structure, R: Structure>(
        &mut self,
        function: Function<A, R>,
        specs: impl IntoIterator<Item = TensorSpec>,
    ) -> Result<ConcreteId, Error> {
        let world = self.enter();
        check(world, function)?;
        let leaves: Vec<Token> = specs.into_iter().map(Token::Leaf).collect();
        let tokens = match &leaves[..] {
            [_] => leaves,
            _ => [Token::Tuple(leaves.len() as u32)].into_iter().chain(leaves).collect(),
        };
        let concrete = call::concrete_for(world, function.entity, &tokens, &Models::new())?;
        Ok(ConcreteId::new(world.id(), concrete))
    }

    /// Calls one concrete of a function. Arguments of another key are an error, not a trace.
    fn call_concrete<A: Structure, R: Structure>(&mut self, concrete: ConcreteId, arguments: A) -> Result<R, Error> {
        let world = self.enter();
        check(world, concrete)?;
        let parts = Flattened::of(world, arguments)?;
        check_key(world, concrete, &parts)?;
        call::call_concrete(world, concrete.entity, parts)
    }

    /// The variables that a concrete captured, in order of first touch, one by one: at one that is gone stands the error that
    /// a call would give. Roles, which belong to a model of the call, are not among them.
    fn captured_variables(&self, concrete: ConcreteId) -> Result<Vec<Result<VariableId, Error>>, Error> {
        let world = self.world();
        check(world, concrete)?;
        let graph = world.get::<FuncGraph>(concrete.entity).ok_or_else(|| gone(world, concrete))?;
        let captured = graph.weak.iter().filter_map(|weak| match weak.source {
            WeakSource::Captured(entity) => Some((weak, entity)),
            WeakSource::Role { .. } | WeakSource::State { .. } => None,
        });
        let live = |(weak, entity)| {
            entigrad_systems::execute::check_variable(world, &graph.name, weak, entity)?;
            Ok(VariableId::new(world.id(), entity))
        };
        Ok(captured.map(live).collect())
    }

    /// How often a function was traced.
    fn trace_count<A, R>(&self, function: Function<A, R>) -> u64 {
        let found = self.world().get::<TraceCount>(function.entity);
        found.filter(|_| function.world == self.world().id()).map_or(0, |count| count.0)
    }

    /// How many concretes of a function are cached.
    fn concrete_count<A, R>(&self, function: Function<A, R>) -> usize {
        let found = self.world().get::<FunctionCache>(function.entity);
        found.filter(|_| function.world == self.world().id()).map_or(0, |cache| cache.0.len())
    }

    /// A concrete as text: signature, variables, ops with shapes, and where they were written.
    fn print(&self, concrete: ConcreteId) -> Result<String, Error> {
        let world = self.world();
        check(world, concrete)?;
        let table = world.get_resource::<OpTable>().cloned().unwrap_or_default();
        Ok(graph::print(&*graph::collect(world, concrete.entity)?, &table, true))
    }

    /// The plans of a concrete as text: its graph without calls, and for each set of lengths that it was called with a
    /// program: what it takes, its buffers, its instructions, what is saved for later and what is computed again. Where
    /// all lengths are known no call is needed; a concrete whose lengths are not, and that was never called, has only a graph.
    fn print_plan(&mut self, concrete: ConcreteId) -> Result<String, Error> {
        let world = self.enter();
        check(world, concrete)?;
        call::ensure_plan(world, concrete.entity)?;
        plan::settle(world, concrete.entity)?;
        let plans = world.get::<Plans>(concrete.entity).ok_or_else(|| gone(world, concrete))?;
        Ok(plan::print(plans, true))
    }

    /// Begins to train what `loss` reads: give an optimiser with [`Training::with`], then spawn the trainer. The arguments are
    /// those of every step, unless [`Training::batches`] cuts them or [`Training::source`] replaces their leaves:
    ///
    /// ```
    /// # use entigrad::prelude::*;
    /// /// Counts up: the leaves are the tensors of the arguments, in order; models are not among them.
    /// struct Steps;
    /// impl DataSource for Steps {
    ///     fn leaves(&mut self, step: u64) -> Result<Vec<Tensor>, Error> {
    ///         Ok(vec![Tensor::from(step as f32)])
    ///     }
    /// }
    /// # let mut engine = Engine::new();
    /// let model = engine.spawn_model("model");
    /// let v = engine.variable(model, "v", 0.0_f32)?;
    /// let loss = engine.method::<Tensor, Tensor>("loss", |_, model, x| (model.read("v") - x).square());
    /// let trainer = engine.train(loss, (model, Tensor::from(0.0_f32))).source(Steps).with(Sgd::new(0.5)).spawn()?;
    /// engine.run(trainer, 3)?;
    /// assert_eq!(engine.value(v)?, Tensor::from(2.0_f32));
    /// # Ok::<(), Error>(())
    /// ```
    fn train<A: Structure, R: Structure>(&mut self, loss: Function<A, R>, arguments: A) -> Training<'_> {
        let world = self.enter();
        let parts = check(world, loss).and_then(|()| Flattened::of(world, arguments));
        builder(world, loss.entity, parts)
    }

    /// Runs `steps` steps of one trainer; the loss of the last one, before its update, also where it is no number. Fails at the first step that does, and
    /// for a trainer that failed before.
    fn run(&mut self, trainer: TrainerId, steps: u64) -> Result<Option<f64>, Error> {
        let world = self.enter();
        check(world, trainer)?;
        if let Some(error) = crate::training::failure(world, trainer) {
            return Err(error);
        }
        training::run_steps(world, trainer.entity, steps);
        if let Some(error) = crate::training::failure(world, trainer) {
            return Err(error);
        }
        Ok(crate::training::report(world, trainer)?.last_loss)
    }

    /// Runs one step of every trainer in the world, through the update schedule.
    fn update_trainers(&mut self) -> UpdateReport {
        let world = self.enter();
        world.run_schedule(entigrad_systems::schedule::EntigradUpdate);
        crate::training::update_report(world)
    }

    /// The concrete that is the next step of a trainer, traced and planned if it is not yet: its graph can be printed.
    fn step_concrete(&mut self, trainer: TrainerId) -> Result<ConcreteId, Error> {
        let world = self.enter();
        check(world, trainer)?;
        let concrete = training::step_concrete(world, trainer.entity)?;
        Ok(ConcreteId::new(world.id(), concrete))
    }

    /// Every trainer that failed, and why, in creation order.
    fn failures(&mut self) -> Vec<(TrainerId, Error)> {
        let world = self.enter();
        crate::training::failures(world)
    }

    /// How far a trainer has come.
    fn trainer(&self, trainer: TrainerId) -> Result<TrainerReport, Error> {
        check(self.world(), trainer)?;
        crate::training::report(self.world(), trainer)
    }

    /// Spawns an optimiser for gradients that the user accumulates in [`Gradient`] components; see [`Autodiff::optimize`].
    fn spawn_optimizer(&mut self, optimizer: impl Optimizer) -> Result<Entity, Error> {
        optimize::spawn_optimizer(self.enter(), optimizer)
    }

    /// Gives a variable a gradient to be used by [`Autodiff::optimize`]; it replaces one that was not used yet.
    fn set_gradient(&mut self, variable: VariableId, gradient: impl Into<Tensor>) -> Result<(), Error> {
        let (world, gradient) = (self.enter(), gradient.into());
        check(world, variable)?;
        check_spec(world, variable, &gradient)?;
        let gone = gone(world, variable);
        world.get_entity_mut(variable.entity).map_err(|_| gone)?.insert(Gradient(gradient));
        Ok(())
    }

    /// Updates those of `variables` that have a gradient, by an optimiser from [`Autodiff::spawn_optimizer`]; how many.
    fn optimize(&mut self, optimizer: Entity, variables: &[VariableId]) -> Result<usize, Error> {
        let world = self.enter();
        variables.iter().try_for_each(|variable| check(world, *variable))?;
        let variables: Vec<Entity> = variables.iter().map(|variable| variable.entity).collect();
        optimize::optimize(world, optimizer, &variables)
    }
}

/// Checks that a handle is of this world and alive.
pub(crate) fn check(world: &World, handle: impl Handle) -> Result<(), Error> {
    if handle.world() != world.id() {
        return Err(Error::OtherWorld { kind: handle.kind() });
    }
    if world.get_entity(handle.entity()).is_err() { Err(gone(world, handle)) } else { Ok(()) }
}

fn gone(world: &World, handle: impl Handle) -> Error {
    Error::gone(handle.kind(), names::remembered(world, handle.entity()))
}

fn spawn_variable(
    world: &mut World,
    model: ModelId,
    name: &str,
    value: Tensor,
    trainable: bool,
) -> Result<VariableId, Error> {
    check(world, model)?;
    let owner = world.get::<Model>(model.entity).map(|model| model.name.clone());
    let owner = owner.ok_or_else(|| Error::invalid("a variable needs a model, and this entity is none"))?;
    if name.is_empty() || name.split('/').any(str::is_empty) {
        return Err(Error::invalid(format!(
            "`{name}` is no name for a variable of `{owner}`: give one that is not empty between slashes"
        )));
    }
    let others = world.get::<Variables>(model.entity).map(Variables::as_slice).unwrap_or_default();
    if others.iter().any(|other| world.get::<Variable>(*other).is_some_and(|other| *other.name == *name)) {
        return Err(Error::invalid(format!("the model `{owner}` has a variable `{name}` already")));
    }
    let variable = Variable { name: name.into(), spec: value.spec(), trainable };
    let index = next_creation_index(world);
    let entity = world.spawn((variable, Stored(value), VariableOf(model.entity), index)).id();
    Ok(VariableId::new(world.id(), entity))
}

fn check_spec(world: &World, variable: VariableId, value: &Tensor) -> Result<(), Error> {
    let known = world.get::<Variable>(variable.entity).ok_or_else(|| gone(world, variable))?;
    if value.fits(&known.spec) {
        return Ok(());
    }
    let (name, wanted, given) = (&known.name, &known.spec, value.spec());
    Err(Error::invalid(format!("the variable `{name}` is {wanted} and cannot take {given}")))
}

fn spawn_function<A, R>(world: &mut World, name: &str, closure: Closure) -> Function<A, R> {
    let entity = world.spawn((FunctionName(name.into()), Body::Closure(closure))).id();
    Function::new(world.id(), entity)
}

/// The function derived from `function` in this way: found, or spawned as owned by it.
fn derived<A, R>(world: &mut World, function: Function<A, R>, derivation: Derivation) -> Result<Entity, Error> {
    check(world, function)?;
    entigrad_systems::function::derived_function(world, function.entity, derivation)
}

/// Checks that arguments are those that a concrete was traced for.
fn check_key(world: &World, concrete: ConcreteId, parts: &Parts) -> Result<(), Error> {
    let graph = world.get::<FuncGraph>(concrete.entity).ok_or_else(|| gone(world, concrete))?;
    let function =
        world.get::<entigrad_components::ConcreteOf>(concrete.entity).ok_or_else(|| gone(world, concrete))?.0;
    let key = make_key(world, function, &parts.tokens)?;
    if key == graph.key {
        return Ok(());
    }
    let (wanted, mut given) = (spec_list(graph.key.leaf_specs()), spec_list(key.leaf_specs()));
    if wanted == given {
        given = format!("{given} in another structure");
    }
    Err(Error::Arguments { function: graph.name.clone(), wanted, given })
}
