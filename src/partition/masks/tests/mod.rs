//! Test harness: subscenes with their own triangles that exchange masks in arbitrary order.

mod flow;
mod light;

use std::sync::Arc;

use glam::Vec3;
use rand::RngExt;

use super::*;
use crate::geometry::CounterRng;
use crate::geometry::clip::fan;
use crate::geometry::sobol::hash2;
use crate::geometry::{Aabb, Ray, Transmittance, Triangle, WatertightRay};
use crate::partition::tree::Tree;
use crate::partition::{BorderId, CellId, Partition, PartitionKind, Polygons};

/// One subscene.
struct Worker {
    interface: Interface,
    occluders: Pile,
    pending: Pending,
}

/// Triangles of equal transmittance.
struct Pile {
    triangles: Vec<Triangle>,
    lets_through: Vec3,
}

impl Pile {
    fn hides(&self, from: Vec3, to: Vec3) -> bool {
        self.blocked(&Ray::between(from, to)) != Transmittance::CLEAR
    }
}

impl Occluders for Pile {
    fn blocked(&self, ray: &Ray) -> Transmittance {
        let ray = WatertightRay::new(ray);
        let hits = self.triangles.iter().filter(|triangle| triangle.intersect(&ray).is_some()).count();
        Transmittance(if hits > 0 { self.lets_through } else { Vec3::ONE })
    }

    fn are_clear(&self, from: &Aabb, to: &Aabb) -> bool {
        let all = from.union(*to);
        self.triangles.iter().all(|triangle| triangle.bounds().intersection(all).is_empty())
    }

    fn starts_inside(&self, _: &Ray) -> bool {
        false
    }
}

struct Message {
    to: CellId,
    mask: InMask,
}

/// Record of how the light of one source spread.
#[derive(Default)]
struct Spread {
    /// Cells reached, in order, with the masks used there.
    reached: Vec<(CellId, Vec<InMask>)>,
    /// Sender, receiver and border of each mask sent.
    sent: Vec<(CellId, CellId, BorderId)>,
}

struct Workers(Vec<Worker>);

impl Workers {
    fn new(partition: &Partition, polygons: &Polygons, resolution: u32) -> Self {
        Self::with(partition, polygons, resolution, Vec3::ZERO)
    }

    fn with(partition: &Partition, polygons: &Polygons, resolution: u32, lets_through: Vec3) -> Self {
        let worker = |cell| {
            let subscene = partition.subscene(cell, polygons, |_, _| ());
            let corners = |piece: [crate::geometry::clip::Corner; 3]| piece.map(|corner| corner.position.as_vec3());
            let triangles =
                subscene.pieces().flat_map(|(_, piece)| fan(piece)).map(|piece| Triangle { corners: corners(piece) });
            Worker {
                interface: Interface::new(partition, cell, resolution).unwrap(),
                occluders: Pile { triangles: triangles.collect(), lets_through },
                pending: Pending::default(),
            }
        };
        Self(partition.ids().map(worker).collect())
    }

    /// Spreads a source from its home subscene. `order` decides which pending message arrives next.
    fn spread(&mut self, home: CellId, source: &MaskSource, order: u32) -> Spread {
        let mut spread = Spread::default();
        let (mut under_way, mut rng) = (Vec::new(), CounterRng::new(order));
        self.0[home.index()].send(source, &[], &mut under_way, &mut spread);
        spread.reached.push((home, Vec::new()));
        while !under_way.is_empty() {
            let next = rng.random_range(0..under_way.len());
            let Message { to, mask } = under_way.swap_remove(next);
            let worker = &mut self.0[to.index()];
            if let Some(masks) = worker.pending.arrive(&worker.interface, 7, source, mask) {
                worker.send(source, &masks, &mut under_way, &mut spread);
                spread.reached.push((to, masks));
            }
        }
        spread
    }
}

impl Worker {
    fn send(&self, source: &MaskSource, masks: &[InMask], under_way: &mut Vec<Message>, spread: &mut Spread) {
        let sight = Sight { interface: &self.interface, source, masks };
        for gate in self.interface.outward(source) {
            let mask = InMask { border: gate.border, mask: Arc::new(sight.mask(gate, &self.occluders)) };
            spread.sent.push((self.interface.cell(), gate.beyond, gate.border));
            under_way.push(Message { to: gate.beyond, mask });
        }
    }

    /// Returns the light of a viewpoint that reaches a point, per channel.
    fn light(&self, source: &MaskSource, masks: &[InMask], point: Vec3, viewpoint: usize) -> Vec3 {
        let glance = Sight { interface: &self.interface, source, masks }.visibility(point, viewpoint);
        glance.light * self.occluders.blocked(&glance.local).0
    }
}

/// Returns a grid of one-meter cells with the given number of cells per axis.
fn grid(parts: [u32; 3]) -> Partition {
    fn cut(min: [u32; 3], max: [u32; 3]) -> Tree {
        let Some(axis) = (0..3).rev().find(|&axis| max[axis] - min[axis] > 1) else { return Tree::Cell };
        let middle = (min[axis] + max[axis]) / 2;
        let (mut below, mut above) = (max, min);
        below[axis] = middle;
        above[axis] = middle;
        Tree::cut(axis, middle as f32, [cut(min, below), cut(above, max)])
    }
    let bounds = Aabb { min: Vec3::ZERO, max: Vec3::from(parts.map(|part| part as f32)) };
    Partition::assemble(PartitionKind::Uniform, bounds, &cut([0; 3], parts))
}

/// Returns a point source that looks in all directions.
fn eye(position: Vec3) -> MaskSource {
    let facing = [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z];
    MaskSource::new(position, facing.map(|normal| Viewpoint { position, normal }).to_vec())
}

fn quad(polygons: &mut Polygons, corner: Vec3, u: Vec3, v: Vec3) {
    polygons.push(&[corner, corner + u, corner + u + v, corner + v], 0.0);
}
