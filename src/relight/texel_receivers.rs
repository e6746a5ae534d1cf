//! Mapping from texels to receivers.

use core::f32::consts::FRAC_1_PI;

use glam::Vec3;
use rayon::prelude::*;

use crate::lightmap::Page;
use crate::low_rank::Receivers;
use crate::parts::{map, pause};

/// Smallest unoccluded fraction of a receiver that is shown. Others take their values from neighbors, as in bakes.
const MIN_VISIBILITY: f32 = 1.0 / 8.0;

/// Width of the margin around shown texels, in texels, for texture filtering.
const RINGS: usize = 4;

/// Minimum number of texels per thread.
const MIN_TEXELS: usize = 2048;

/// Marks a texel without receivers.
const NONE: u32 = u32::MAX;

/// Receiver `of`, and the `row` that its texel shows: its own or that of its stand-in.
#[derive(Clone, Copy)]
struct VisibleReceiver {
    of: u32,
    row: u32,
}

/// Weighted receivers of each texel of one page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TexelReceivers {
    /// List of receivers of each texel, or [`NONE`].
    lists: Vec<u32>,
    /// Start of each list in `sources`, and the number of sources at the end.
    offsets: Vec<u32>,
    /// Rows and weights. The weights of a list sum to one.
    sources: Vec<(u32, f32)>,
    /// Texel that has each list for its own. Texels of the margin share it.
    homes: Vec<u32>,
}

/// Tables of [`TexelReceivers`].
pub struct TexelTables<'a> {
    /// List of each texel, [`u32::MAX`] for none.
    pub lists: &'a [u32],
    /// Start of each list, and the number of sources at the end.
    pub offsets: &'a [u32],
    /// Rows and weights.
    pub sources: &'a [(u32, f32)],
    /// Texel that has each list for its own.
    pub homes: &'a [u32],
}

impl TexelReceivers {
    /// Builds the mapping for all pages.
    ///
    /// Receivers that share a texel are weighted by their unoccluded `area`, as in bakes. Hidden receivers, such as
    /// those below the ground, show their stand-ins. `stand_ins` holds pairs of rows, sorted.
    pub async fn of_pages(pages: &[Page], receivers: &Receivers, area: &[f32], stand_ins: &[(u32, u32)]) -> Vec<Self> {
        let mut rows: Vec<Vec<VisibleReceiver>> = vec![Vec::new(); pages.len()];
        for (row, texel) in receivers.texel.iter().enumerate() {
            let is_on = |page: &&Page| u32::from(texel.x) < page.width && u32::from(texel.y) < page.height;
            let stand_in = stand_ins.binary_search_by_key(&(row as u32), |pair| pair.0);
            let seen = stand_in.map_or(row as u32, |place| stand_ins[place].1);
            let is_visible = receivers.visible[row].min(receivers.visible[seen as usize]) >= MIN_VISIBILITY;
            if is_visible && pages.get(texel.page as usize).as_ref().is_some_and(is_on) {
                rows[texel.page as usize].push(VisibleReceiver { of: row as u32, row: seen });
            }
        }
        pause().await;
        let mut all: Vec<Self> =
            pages.par_iter().zip(rows).map(|(page, rows)| Self::new(page, rows, receivers, area)).collect();
        for (page, texels) in pages.iter().zip(&mut all) {
            for _ in 0..RINGS {
                pause().await;
                texels.grow(page.width as usize).await;
            }
        }
        all
    }

    fn new(page: &Page, mut rows: Vec<VisibleReceiver>, receivers: &Receivers, area: &[f32]) -> Self {
        let seen = |receiver: &VisibleReceiver| receivers.visible[receiver.row as usize] * area[receiver.of as usize];
        let texel_of = |receiver: &VisibleReceiver| {
            let texel = receivers.texel[receiver.of as usize];
            page.index(u32::from(texel.x), u32::from(texel.y))
        };
        rows.sort_by_key(|receiver| (texel_of(receiver), receiver.of));
        let mut texels = Self { lists: vec![NONE; page.texels.len()], offsets: vec![0], ..Self::default() };
        for rows in rows.chunk_by(|a, b| texel_of(a) == texel_of(b)) {
            let all: f32 = rows.iter().map(seen).sum();
            let home = texel_of(&rows[0]);
            texels.lists[home] = texels.homes.len() as u32;
            texels.homes.push(home as u32);
            texels.sources.extend(rows.iter().map(|receiver| (receiver.row, seen(receiver) / all)));
            texels.offsets.push(texels.sources.len() as u32);
        }
        texels
    }

    /// Extends the shown texels by one ring of neighbors.
    async fn grow(&mut self, width: usize) {
        let height = self.lists.len() / width.max(1);
        let neighbors = |texel: usize| {
            let (x, y) = ((texel % width) as i64, (texel / width) as i64);
            let around = [(0, -1), (-1, 0), (1, 0), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)];
            around.into_iter().map(move |(dx, dy)| (x + dx, y + dy)).filter_map(move |(x, y)| {
                let is_on = (0..width as i64).contains(&x) && (0..height as i64).contains(&y);
                is_on.then(|| y as usize * width + x as usize)
            })
        };
        let lists = &self.lists;
        let grown = |texel: usize| match lists[texel] {
            NONE => neighbors(texel).map(|near| lists[near]).find(|&list| list != NONE).unwrap_or(NONE),
            list => list,
        };
        self.lists = map(lists.len(), MIN_TEXELS, grown).await;
    }

    /// Returns each texel with rows of its own, and these rows with their weights.
    pub fn sources(&self) -> impl Iterator<Item = (usize, &[(u32, f32)])> {
        let ranges = self.offsets.windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
        self.homes.iter().zip(ranges).map(|(home, range)| (*home as usize, &self.sources[range]))
    }

    /// Returns the tables of the mapping.
    pub fn tables(&self) -> TexelTables<'_> {
        let Self { lists, offsets, sources, homes } = self;
        TexelTables { lists, offsets, sources, homes }
    }

    /// Draws texels of the page from `first` on, plus a change of irradiance in lux by row, clamped at zero. Returns true
    /// when `displayed` changes.
    pub fn draw(&self, baked: &[Vec3], more: &[Vec3], first: usize, displayed: &mut [Vec3]) -> bool {
        let changed = |own: Vec3, list: u32| {
            let home = baked[self.homes[list as usize] as usize];
            with_change(own, home, self.mean(list, more) * FRAC_1_PI)
        };
        let draw = |((displayed, baked), &list): ((&mut Vec3, &Vec3), &u32)| {
            let light = if list == NONE { *baked } else { changed(*baked, list) };
            let is_new = *displayed != light;
            *displayed = light;
            is_new
        };
        let texels = displayed.par_iter_mut().zip(&baked[first..]).zip(&self.lists[first..]).with_min_len(MIN_TEXELS);
        texels.map(draw).reduce(|| false, |a, b| a | b)
    }

    fn mean(&self, list: u32, of: &[Vec3]) -> Vec3 {
        let list = list as usize;
        let sources = &self.sources[self.offsets[list] as usize..self.offsets[list + 1] as usize];
        sources.iter().map(|&(row, share)| of[row as usize] * share).sum()
    }
}

/// Returns a texel after the texel that it belongs to has changed. A margin has other light than its home, since it
/// continues the light's slope. So it gains as much light as its home, and loses the same fraction.
fn with_change(own: Vec3, home: Vec3, change: Vec3) -> Vec3 {
    let left = Vec3::select(home.cmpgt(Vec3::ZERO), (home + change).max(Vec3::ZERO) / home, Vec3::ZERO);
    own * Vec3::select(change.cmplt(Vec3::ZERO), left, Vec3::ONE) + change.max(Vec3::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lightmap::PageSize;
    use crate::low_rank::ReceiverTexel;
    use crate::parts::finish;

    fn receivers(texels: &[(u16, u16, f32)]) -> Receivers {
        Receivers {
            texel: texels.iter().map(|&(x, y, _)| ReceiverTexel { page: 0, x, y }).collect(),
            visible: texels.iter().map(|&(.., visible)| visible).collect(),
            ..Receivers::default()
        }
    }

    #[test]
    fn a_texel_shows_the_mean_of_what_is_visible_and_its_surroundings_the_same() {
        let page = Page { texels: vec![Vec3::ONE; 144], ..Page::new(PageSize { width: 12, height: 12 }) };
        let receivers = receivers(&[(2, 2, 0.75), (2, 2, 0.5), (3, 2, -1.0)]);
        let texels =
            finish(TexelReceivers::of_pages(core::slice::from_ref(&page), &receivers, &[1.0, 0.5, 1.0], &[])).remove(0);
        let more = [Vec3::splat(4.0), Vec3::ZERO, Vec3::splat(100.0)];
        let mut displayed = page.texels.clone();
        assert!(texels.draw(&page.texels, &more, 0, &mut displayed));
        let expected = Vec3::splat(1.0 + 3.0 * FRAC_1_PI);
        for (x, y) in [(2, 2), (3, 2), (6, 6), (0, 0)] {
            assert!(displayed[page.index(x, y)].abs_diff_eq(expected, 1e-6), "{x} {y}");
        }
        assert_eq!(displayed[page.index(7, 2)], Vec3::ONE, "too far away");
        assert!(!texels.draw(&page.texels, &more, 0, &mut displayed), "nothing new");
    }

    #[test]
    fn a_page_that_is_drawn_in_parts_shows_the_same() {
        let size = PageSize { width: 12, height: 12 };
        let page = Page { texels: (0..144).map(|texel| Vec3::splat(texel as f32)).collect(), ..Page::new(size) };
        let receivers = receivers(&[(2, 2, 0.75), (8, 9, 0.5)]);
        let pages = core::slice::from_ref(&page);
        let texels = finish(TexelReceivers::of_pages(pages, &receivers, &[1.0, 0.5], &[])).remove(0);
        let more = [Vec3::splat(4.0), Vec3::splat(9.0)];
        let [mut whole, mut parts] = [page.texels.clone(), page.texels.clone()];
        texels.draw(&page.texels, &more, 0, &mut whole);
        for first in (0..144).step_by(50) {
            let last = 144.min(first + 50);
            assert!(texels.draw(&page.texels, &more, first, &mut parts[first..last]));
        }
        assert_eq!(parts, whole);
    }

    #[test]
    fn a_texel_that_nobody_sees_shows_its_stand_in() {
        let page = Page::new(PageSize { width: 2, height: 1 });
        let receivers = receivers(&[(0, 0, 1.0), (1, 0, 1.0)]);
        let texels = finish(TexelReceivers::of_pages(core::slice::from_ref(&page), &receivers, &[1.0, 2.0], &[(0, 1)]))
            .remove(0);
        let mut displayed = page.texels.clone();
        texels.draw(&page.texels, &[Vec3::splat(100.0), Vec3::ONE], 0, &mut displayed);
        assert!(displayed.iter().all(|light| light.abs_diff_eq(Vec3::splat(FRAC_1_PI), 1e-6)), "{displayed:?}");
    }

    #[test]
    fn a_margin_gains_as_much_as_its_texel_and_loses_the_same_fraction() {
        let [own, home] = [Vec3::splat(3.0), Vec3::splat(2.0)];
        assert_eq!(with_change(own, home, Vec3::new(1.0, -1.0, -2.0)), Vec3::new(4.0, 1.5, 0.0));
        assert_eq!(with_change(home, home, Vec3::new(1.0, -0.5, -5.0)), Vec3::new(3.0, 1.5, 0.0));
        assert_eq!(with_change(own, Vec3::ZERO, Vec3::new(1.0, 0.0, -1.0)), Vec3::new(4.0, 3.0, 0.0));
    }

    #[test]
    fn no_texel_falls_below_nothing() {
        let page = Page { texels: vec![Vec3::ONE; 4], ..Page::new(PageSize { width: 2, height: 2 }) };
        let texels =
            finish(TexelReceivers::of_pages(core::slice::from_ref(&page), &receivers(&[(0, 0, 1.0)]), &[1.0], &[]))
                .remove(0);
        let mut displayed = page.texels.clone();
        texels.draw(&page.texels, &[Vec3::new(-100.0, 0.0, 1.0)], 0, &mut displayed);
        assert_eq!(displayed[0].x, 0.0);
        assert!(displayed[0].y == 1.0 && displayed[0].z > 1.0);
    }
}
