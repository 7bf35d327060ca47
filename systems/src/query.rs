//! Queries that a world keeps: to make one allocates, and an update asks the same ones each time.

use bevy_ecs::query::{QueryData, QueryFilter, QueryState};
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use std::any::{Any, TypeId};

/// The queries that were asked, each by its type; `None` while it is lent.
#[derive(Resource, Default)]
pub struct Queries(Vec<(TypeId, Option<Box<dyn Any + Send + Sync>>)>);

impl Queries {
    fn place(&mut self, query: TypeId) -> &mut Option<Box<dyn Any + Send + Sync>> {
        let place = self.0.iter().position(|(known, _)| *known == query).unwrap_or_else(|| {
            self.0.push((query, None));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }
}

/// Lends `f` the query of these types.
pub fn with_query<D, F, R>(world: &mut World, f: impl FnOnce(&mut QueryState<D, F>, &World) -> R) -> R
where
    D: QueryData + 'static,
    F: QueryFilter + 'static,
{
    let query = TypeId::of::<QueryState<D, F>>();
    let kept = world.get_resource_mut::<Queries>().and_then(|mut kept| kept.place(query).take());
    let mut kept = kept.and_then(|kept| kept.downcast().ok()).unwrap_or_else(|| Box::new(QueryState::new(world)));
    let result = f(&mut kept, world);
    if let Some(mut queries) = world.get_resource_mut::<Queries>() {
        *queries.place(query) = Some(kept);
    }
    result
}
