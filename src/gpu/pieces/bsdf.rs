//! Tests of BSDF functions.

use glam::{Vec2, Vec3, Vec4};

use super::{Pieces, assert_alike, numbers, padded};
use crate::geometry::sampling::{cosine_hemisphere, uniform_sphere};
use crate::pathtrace::Bsdf;
use crate::scene::Appearance;

const COUNT: u32 = 4096;

/// WGSL function that builds an appearance from three vectors.
const APPEARANCE: &str = "fn appearance(m: vec4<f32>, c: vec4<f32>, g: vec4<f32>) -> Appearance {
    return Appearance(c.xyz, m.x, vec3(m.y), m.z, g.x, g.y, g.z, g.w, 0.0, vec3(1.0));
}";

/// Class of surfaces.
struct Kind {
    name: &'static str,
    /// Minimum perceptual roughness. Lobes of smoother surfaces are narrower than rounding errors.
    roughness: f32,
    metallic: f32,
    reflectance: f32,
    clearcoat: f32,
    transmission: f32,
    relative_ior: f32,
}

const DIFFUSE: Kind = Kind {
    name: "diffuse",
    roughness: 0.1,
    metallic: 0.0,
    reflectance: 0.0,
    clearcoat: 0.0,
    transmission: 0.0,
    relative_ior: 1.0,
};

const KINDS: [Kind; 7] = [
    DIFFUSE,
    Kind { name: "plastic", reflectance: 0.5, ..DIFFUSE },
    Kind { name: "metal", metallic: 1.0, ..DIFFUSE },
    Kind { name: "half metal", metallic: 0.5, reflectance: 0.5, ..DIFFUSE },
    Kind { name: "clearcoat", clearcoat: 0.8, reflectance: 0.5, ..DIFFUSE },
    Kind { name: "glass", transmission: 0.9, reflectance: 0.5, relative_ior: 1.5, ..DIFFUSE },
    Kind { name: "glass from within", transmission: 0.9, reflectance: 0.5, relative_ior: 1.0 / 1.5, ..DIFFUSE },
];

/// Surface of some kind with viewing direction, incident direction and random numbers.
struct Case {
    appearance: Appearance,
    normal: Vec3,
    outgoing: Vec3,
    incoming: Vec3,
    u: Vec2,
    choice: f32,
}

impl Case {
    fn all(kind: &Kind) -> impl Iterator<Item = Self> {
        let [a, b, c, d] = [1, 2, 3, 4].map(|seed| numbers(seed, COUNT));
        a.zip(b).zip(c.zip(d)).map(|((a, b), (c, d))| {
            let normal = uniform_sphere(Vec2::new(a[0], a[1]));
            Self {
                appearance: Appearance {
                    base_color: Vec3::new(b[0], b[1], b[2]),
                    metallic: kind.metallic,
                    perceptual_roughness: kind.roughness + (1.0 - kind.roughness) * b[3],
                    reflectance: Vec3::splat(kind.reflectance),
                    clearcoat: kind.clearcoat,
                    clearcoat_perceptual_roughness: kind.roughness + (1.0 - kind.roughness) * d[3],
                    transmission: kind.transmission,
                    relative_ior: kind.relative_ior,
                    diffuse_transmission: 0.0,
                    diffuse_transmission_color: Vec3::ONE,
                },
                normal,
                outgoing: cosine_hemisphere(normal, Vec2::new(a[2], a[3])),
                incoming: cosine_hemisphere(normal, Vec2::new(c[2], c[3])),
                u: Vec2::new(c[0], c[1]),
                choice: d[0],
            }
        })
    }

    fn bsdf(&self) -> Bsdf {
        Bsdf::new(&self.appearance, self.normal, self.outgoing)
    }

    fn question(&self) -> [Vec4; 7] {
        let Appearance { base_color, metallic, perceptual_roughness, reflectance, .. } = self.appearance;
        let Appearance { clearcoat, clearcoat_perceptual_roughness, transmission, relative_ior, .. } = self.appearance;
        [
            Vec4::new(metallic, reflectance.x, perceptual_roughness, 0.0),
            base_color.extend(0.0),
            Vec4::new(clearcoat, clearcoat_perceptual_roughness, transmission, relative_ior),
            self.normal.extend(self.choice),
            self.outgoing.extend(self.u.x),
            self.incoming.extend(self.u.y),
            Vec4::ZERO,
        ]
    }
}

#[test]
fn as_much_light_is_scattered_between_two_directions() {
    let Some(pieces) = Pieces::without_scene() else { return };
    let answer = format!(
        "{APPEARANCE}
        fn answer(asked: Rows) -> Rows {{
            let bsdf = make_bsdf(appearance(asked[0], asked[1], asked[2]), asked[3].xyz, asked[4].xyz);
            return Rows(
                vec4(evaluate_bsdf(bsdf, asked[5].xyz), 0.0),
                vec4(bsdf_pdf(bsdf, asked[5].xyz), bsdf_albedo(bsdf)),
                vec4(evaluate_diffuse(bsdf, asked[5].xyz), 0.0),
                vec4(bsdf.frame[2], 0.0),
                vec4(0.0), vec4(0.0), vec4(0.0),
            );
        }}"
    );
    for kind in &KINDS {
        let questions: Vec<_> = Case::all(kind).map(|case| case.question()).collect();
        let expected = Case::all(kind).map(|case| {
            let bsdf = case.bsdf();
            let [x, y, z] = bsdf.albedo().to_array();
            let diffuse =
                if bsdf.is_smooth() { bsdf.evaluate_diffuse(case.incoming) } else { bsdf.evaluate(case.incoming) };
            padded([
                bsdf.evaluate(case.incoming).extend(0.0),
                Vec4::new(bsdf.pdf(case.incoming), x, y, z),
                diffuse.extend(0.0),
                bsdf.normal().extend(0.0),
            ])
        });
        assert_alike(kind.name, &pieces.answers(&answer, &questions), expected, 1e-4, 0);
    }
}

#[test]
fn the_same_directions_are_chosen_with_the_same_weights() {
    let Some(pieces) = Pieces::without_scene() else { return };
    let answer = format!(
        "{APPEARANCE}
        fn answer(asked: Rows) -> Rows {{
            let bsdf = make_bsdf(appearance(asked[0], asked[1], asked[2]), asked[3].xyz, asked[4].xyz);
            let scattered = sample_bsdf(bsdf, vec2(asked[4].w, asked[5].w), asked[3].w);
            return Rows(
                vec4(scattered.direction, select(0.0, 1.0, scattered.through)),
                vec4(scattered.weight, 0.0),
                vec4(log(1.0 + scattered.pdf)),
                vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0),
            );
        }}"
    );
    for kind in &KINDS {
        let questions: Vec<_> = Case::all(kind).map(|case| case.question()).collect();
        let expected = Case::all(kind).map(|case| {
            padded(case.bsdf().sample(case.u, case.choice).map_or([Vec4::ZERO; 3], |scattered| {
                let through = if scattered.pdf.is_none() { 1.0 } else { 0.0 };
                let pdf = (1.0 + scattered.pdf.unwrap_or(0.0)).ln();
                [scattered.direction.extend(through), scattered.weight.extend(0.0), Vec4::splat(pdf)]
            }))
        });
        // The choice of lobe, and masking, may depend on the last bit.
        assert_alike(kind.name, &pieces.answers(&answer, &questions), expected, 1e-3, 4);
    }
}
