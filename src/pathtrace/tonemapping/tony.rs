//! Tony McMapface tone mapping, by Tomasz Stachowiak.

use std::sync::LazyLock;

use glam::{UVec3, Vec3};

/// Number of table entries on each axis.
const SIZE: u32 = 48;
/// Lookup table of the author, licensed MIT or Apache 2.0. Columns are red, rows green and then blue. Each pixel is an
/// Rgb9e5 word (three 9-bit mantissas and an exponent), lowest byte first.
static PICTURE: &[u8] = include_bytes!("../../../assets/tonemapping/tony_mc_mapface.png");

static TABLE: LazyLock<Vec<Vec3>> = LazyLock::new(|| {
    let picture = image::load_from_memory(PICTURE).expect("the picture is part of the crate");
    picture.to_rgba8().pixels().map(|pixel| from_rgb9e5(u32::from_le_bytes(pixel.0))).collect()
});

fn from_rgb9e5(word: u32) -> Vec3 {
    let mantissas = UVec3::new(word, word >> 9, word >> 18) & 0x1ff;
    mantissas.as_vec3() * libm::exp2f((word >> 27) as f32 - 24.0)
}

/// Maps light with the table, indexed by `x / (1 + x)` of each channel and filtered trilinearly.
pub(super) fn tony_mc_mapface(light: Vec3) -> Vec3 {
    let light = light.min(Vec3::splat(1e9));
    let place = light / (light + 1.0) * (SIZE - 1) as f32;
    let before = place.as_uvec3().min(UVec3::splat(SIZE - 2));
    let blend = place - before.as_vec3();
    let entry = |x: u32, y: u32, z: u32| {
        let at = before + UVec3::new(x, y, z);
        TABLE[(at.x + SIZE * (at.y + SIZE * at.z)) as usize]
    };
    let row = |y: u32, z: u32| entry(0, y, z).lerp(entry(1, y, z), blend.x);
    let plane = |z: u32| row(0, z).lerp(row(1, z), blend.y);
    plane(0).lerp(plane(1), blend.z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_corners_and_is_filtered_between_entries() {
        assert_eq!(TABLE.len(), 48 * 48 * 48);
        assert_eq!(from_rgb9e5(24 << 27 | 3 << 18 | 2 << 9 | 1), Vec3::new(1.0, 2.0, 3.0));
        // Ends of the gray diagonal in the author's file.
        assert!((tony_mc_mapface(Vec3::ZERO) - 0.000_136_85).abs().max_element() < 1e-7);
        assert!((tony_mc_mapface(Vec3::splat(f32::MAX)) - 0.998_046_9).abs().max_element() < 1e-5);
        // Light of 24 / 23 falls on the middle entry, 0.5703125.
        assert!((tony_mc_mapface(Vec3::splat(24.0 / 23.0)) - 0.570_312_5).abs().max_element() < 1e-5);
        let corner = |x: u32, y: u32, z: u32| TABLE[(x + 48 * (y + 48 * z)) as usize];
        // Light of one falls half-way between entries 23 and 24 on each axis.
        let mean = (0..8)
            .map(|corners| corner(23 + (corners & 1), 23 + (corners >> 1 & 1), 23 + (corners >> 2)))
            .sum::<Vec3>()
            / 8.0;
        assert!((tony_mc_mapface(Vec3::ONE) - mean).abs().max_element() < 1e-5);
        let red = tony_mc_mapface(Vec3::X);
        assert!(red.x > 2.0 * red.y.max(red.z), "columns are red: {red}");
    }
}
