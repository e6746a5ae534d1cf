//! Hierarchical radiosity: bright pairs exchange light between small groups of elements, dim pairs between large
//! groups.

use super::Room;
use super::exchange::Exchange;
use crate::geometry::sobol::hash2;
use crate::geometry::{CounterRng, Ray, RayQuery, SurfaceId};
use glam::Vec2;
use rand::RngExt;

/// Number of rays that test the visibility between two groups.
const SHADOW_RAYS: u32 = 8;

/// Group of one surface's elements, divided into at most four parts, or into the pieces of one texel.
struct Group {
    elements: Vec<usize>,
    parts: Vec<usize>,
    area: f64,
    radiosity: f64,
    /// Irradiance from the group's own links.
    gathered: f64,
    links: Vec<Link>,
}

/// Link from a source group.
struct Link {
    from: usize,
    share: f64,
}

/// Irradiance of each element, and number of links.
pub(super) struct Found {
    pub irradiance: Vec<f64>,
    pub links: usize,
}

pub(super) struct Hierarchy<'a> {
    room: &'a Room,
    exchange: &'a Exchange,
    groups: Vec<Group>,
    roots: Vec<usize>,
    /// Radiosity times form factor above which links are refined, in lm/m2.
    threshold: f64,
}

impl<'a> Hierarchy<'a> {
    /// Solves by alternate refinement, gathering and sweeping.
    pub fn solve(room: &'a Room, exchange: &'a Exchange, threshold: f64) -> Found {
        let mut hierarchy = Self { room, exchange, groups: Vec::new(), roots: Vec::new(), threshold };
        for surface in (0..room.elements.surface_offsets.len() - 1).map(SurfaceId::from_index) {
            let elements: Vec<usize> = room.elements.of_surface(surface).collect();
            if !elements.is_empty() {
                let root = hierarchy.group(elements);
                hierarchy.roots.push(root);
            }
        }
        for root in hierarchy.roots.clone() {
            hierarchy.sweep(root, 0.0, &mut vec![0.0; room.len()]);
        }
        let pairs: Vec<[usize; 2]> =
            (hierarchy.roots.iter()).flat_map(|&to| hierarchy.roots.iter().map(move |&from| [to, from])).collect();
        pairs.into_iter().for_each(|[to, from]| hierarchy.refine(to, from));
        loop {
            let irradiance = hierarchy.settle();
            let before = hierarchy.links();
            hierarchy.refine_all();
            if hierarchy.links() == before {
                return Found { irradiance, links: before };
            }
        }
    }

    fn group(&mut self, elements: Vec<usize>) -> usize {
        let place = |element: &usize| {
            let texel = self.room.elements.texel[*element];
            [texel.x, texel.y]
        };
        let middle: [u16; 2] = core::array::from_fn(|axis| {
            let along = || elements.iter().map(|element| place(element)[axis]);
            along().min().unwrap_or(0).midpoint(along().max().unwrap_or(0))
        });
        let quarter = |element: &usize| {
            let place = place(element);
            usize::from(place[0] > middle[0]) + 2 * usize::from(place[1] > middle[1])
        };
        let mut parts: Vec<Vec<usize>> = (0..4)
            .map(|wanted| elements.iter().copied().filter(|element| quarter(element) == wanted).collect())
            .filter(|part: &Vec<usize>| !part.is_empty())
            .collect();
        if parts.len() == 1 {
            // A single texel is divided into its pieces, if it has several.
            parts =
                if elements.len() > 1 { elements.iter().map(|&element| vec![element]).collect() } else { Vec::new() };
        }
        let parts = parts.into_iter().map(|part| self.group(part)).collect();
        let area = elements.iter().map(|&element| self.room.area[element]).sum();
        self.groups.push(Group { elements, parts, area, radiosity: 0.0, gathered: 0.0, links: Vec::new() });
        self.groups.len() - 1
    }

    fn links(&self) -> usize {
        self.groups.iter().map(|group| group.links.len()).sum()
    }

    /// Returns the form factor from one group to another, averaged over the receiving elements.
    fn share(&self, to: usize, from: usize) -> f64 {
        let [to, from] = [to, from].map(|group| &self.groups[group]);
        let of_element = |&element: &usize| {
            let row = self.exchange.rows[element].iter();
            let seen: f64 =
                row.filter(|(other, _)| from.elements.binary_search(other).is_ok()).map(|(_, share)| share).sum();
            seen * self.room.area[element]
        };
        to.elements.iter().map(of_element).sum::<f64>() / to.area
    }

    /// Links two groups, or their parts if the link would carry much light or is partly occluded (brightness-weighted
    /// refinement).
    fn refine(&mut self, to: usize, from: usize) {
        let share = self.share(to, from);
        if share == 0.0 {
            return;
        }
        let is_coarse = self.groups[from].radiosity * share > self.threshold || self.is_partly_visible(to, from);
        let [to_parts, from_parts] = [to, from].map(|group| self.groups[group].parts.clone());
        let split_source =
            to_parts.is_empty() || self.groups[from].area > self.groups[to].area && !from_parts.is_empty();
        if !is_coarse || to_parts.is_empty() && from_parts.is_empty() {
            self.groups[to].links.push(Link { from, share });
        } else if split_source {
            from_parts.into_iter().for_each(|from| self.refine(to, from));
        } else {
            to_parts.into_iter().for_each(|to| self.refine(to, from));
        }
    }

    fn refine_all(&mut self) {
        for to in 0..self.groups.len() {
            for link in core::mem::take(&mut self.groups[to].links) {
                self.refine(to, link.from);
            }
        }
    }

    fn is_partly_visible(&self, to: usize, from: usize) -> bool {
        let mut rng = CounterRng::new(hash2(to as u32, from as u32));
        let mut point_of = |group: usize| {
            let elements = &self.groups[group].elements;
            let element = elements[rng.random_range(0..elements.len())];
            self.room.samplers[element].sample(Vec2::from(rng.random::<[f32; 2]>())).origin()
        };
        let blocked = (0..SHADOW_RAYS)
            .filter(|_| self.room.world.blocked(&Ray::between(point_of(to), point_of(from))).is_blocked())
            .count();
        blocked > 0 && blocked < SHADOW_RAYS as usize
    }

    /// Gathers and sweeps to convergence. Returns the irradiance of each element.
    fn settle(&mut self) -> Vec<f64> {
        let mut irradiance = vec![0.0; self.room.len()];
        for _ in 0..200 {
            for to in 0..self.groups.len() {
                let links = self.groups[to].links.iter();
                self.groups[to].gathered = links.map(|link| link.share * self.groups[link.from].radiosity).sum();
            }
            let before = irradiance.clone();
            for root in self.roots.clone() {
                self.sweep(root, 0.0, &mut irradiance);
            }
            if self.room.difference(&before, &irradiance) < 1e-9 {
                break;
            }
        }
        irradiance
    }

    /// Pushes irradiance down to the elements, and pulls their radiosity up. Returns the group's power.
    fn sweep(&mut self, group: usize, from_above: f64, irradiance: &mut [f64]) -> f64 {
        let here = from_above + self.groups[group].gathered;
        let power = match self.groups[group].elements[..] {
            [element] => {
                irradiance[element] = here;
                let radiosity = self.room.emitted[element] + self.room.reflectance[element] * here;
                radiosity * self.room.area[element]
            }
            _ => self.groups[group].parts.clone().into_iter().map(|part| self.sweep(part, here, irradiance)).sum(),
        };
        self.groups[group].radiosity = power / self.groups[group].area;
        power
    }
}
