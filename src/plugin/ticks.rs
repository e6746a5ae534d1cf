//! Detection of changes for run conditions: a system whose world is at rest starts no task.
//!
//! A filter such as `Changed` visits each entity. These functions read the ticks of a component as one slice for each
//! table, some thousand per microsecond. A condition and its system each have their own time of the last run. So a
//! condition must cover all changes that its system reacts to; then the system misses none.

use bevy::ecs::change_detection::{ContiguousRef, MAX_CHANGE_AGE, Tick};
use bevy::ecs::query::ArchetypeFilter;
use bevy::prelude::*;

/// Returns true if a component was added or changed since the last run.
pub fn any_changed<T: Component, F: ArchetypeFilter>(components: &Query<Ref<T>, F>) -> bool {
    any_since(components, |table| table.changed_ticks_slice())
}

/// Returns true if a component was added since the last run.
pub fn any_added<T: Component, F: ArchetypeFilter>(components: &Query<Ref<T>, F>) -> bool {
    any_since(components, |table| table.added_ticks_slice())
}

fn any_since<T: Component, F: ArchetypeFilter>(
    components: &Query<Ref<T>, F>,
    ticks: for<'a> fn(&ContiguousRef<'a, T>) -> &'a [Tick],
) -> bool {
    // Components outside tables have no slices, so they count as changed.
    components.contiguous_iter().map_or(true, |mut tables| {
        tables.any(|table| {
            let (last_run, this_run) = (table.last_run_tick().get(), table.this_run_tick().get());
            // The minimum takes several ticks at once. An early end would cost more than it saves.
            let ages = ticks(&table).iter().map(|tick| this_run.wrapping_sub(tick.get()));
            ages.fold(u32::MAX, u32::min) < this_run.wrapping_sub(last_run).min(MAX_CHANGE_AGE)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Component)]
    struct Part(u32);

    #[derive(Component)]
    struct Other;

    type Parts<'w, 's> = Query<'w, 's, Ref<'static, Part>, Without<Other>>;

    /// Returns what a condition finds in each of its runs: whether a part was changed, and whether one was added.
    fn seen(world: &mut World, steps: &[fn(&mut World)]) -> Vec<(bool, bool)> {
        let mut condition = IntoSystem::into_system(|parts: Parts| (any_changed(&parts), any_added(&parts)));
        condition.initialize(world);
        steps
            .iter()
            .map(|step| {
                step(world);
                condition.run((), world).unwrap()
            })
            .collect()
    }

    #[test]
    fn a_change_of_any_entity_is_seen_once() {
        let spawn = |world: &mut World| _ = world.spawn_batch((0..1000).map(Part)).count();
        let change = |world: &mut World| {
            let mut parts = world.query::<&mut Part>();
            parts.iter_mut(world).nth(700).unwrap().0 += 1;
        };
        let move_to_another_table = |world: &mut World| {
            let part = world.query_filtered::<Entity, With<Part>>().iter(world).next().unwrap();
            world.entity_mut(part).insert(Name::new("part"));
        };
        let change_another = |world: &mut World| _ = world.spawn((Part(0), Other));
        let rest = |_: &mut World| ();
        let steps: [fn(&mut World); 6] = [spawn, rest, change, rest, move_to_another_table, change_another];
        let expected = [(true, true), (false, false), (true, false), (false, false), (false, false), (false, false)];
        assert_eq!(seen(&mut World::new(), &steps), expected);
    }
}
