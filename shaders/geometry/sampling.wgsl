// Mappings from the unit square to points and directions; counterpart of `geometry::sampling`.

const PI: f32 = 3.14159265358979;
const TAU: f32 = 6.28318530717959;

/// Returns sine and cosine of an angle in turns, by the polynomials of `geometry::sin_cos_turns`.
fn sin_cos_turns(turns: f32) -> vec2<f32> {
    let quarters = floor(turns * 4.0 + 0.5);
    let x = (turns - quarters * 0.25) * TAU;
    let square = x * x;
    let sine = x * (1.0 + square * (-1.0 / 6.0 + square * (1.0 / 120.0
        + square * (-1.0 / 5040.0 + square * (1.0 / 362880.0)))));
    let cosine = 1.0 + square * (-0.5 + square * (1.0 / 24.0
        + square * (-1.0 / 720.0 + square * (1.0 / 40320.0 - square * (1.0 / 3628800.0)))));
    let quarter = i32(quarters);
    var turned = vec2(sine, cosine);
    if (quarter & 1) != 0 {
        turned = vec2(cosine, sine);
    }
    if (quarter & 2) != 0 {
        turned.x = -turned.x;
    }
    if ((quarter + 1) & 2) != 0 {
        turned.y = -turned.y;
    }
    return turned;
}

/// Returns the polar angle of the point (x, y) in radians, by the polynomial of `geometry::arc_tangent`.
fn arc_tangent(y: f32, x: f32) -> f32 {
    let less = min(abs(y), abs(x));
    let more = max(abs(y), abs(x));
    if more <= 0.0 {
        return 0.0;
    }
    let is_steep = less > 0.41421357 * more;
    let ratio = select(less / more, (less - more) / (less + more), is_steep);
    let square = ratio * ratio;
    let series = ((8.0537445e-2 * square - 1.3877686e-1) * square + 1.9977711e-1) * square - 3.333295e-1;
    let eighth = select(0.0, PI / 4.0, is_steep) + (series * square * ratio + ratio);
    let quarter = select(PI / 2.0 - eighth, eighth, abs(y) < abs(x));
    let half = select(quarter, PI - quarter, x < 0.0);
    return select(half, -half, y < 0.0);
}

/// Returns the arc cosine in radians. The argument is clamped to [-1, 1].
fn arc_cosine(value: f32) -> f32 {
    let cosine = clamp(value, -1.0, 1.0);
    return arc_tangent(sqrt((1.0 - cosine) * (1.0 + cosine)), cosine);
}

/// Returns the exponential of each number, by the polynomial of `geometry::exponential`.
fn exponential(exponents: vec3<f32>) -> vec3<f32> {
    let exponent = clamp(exponents, vec3(-87.0), vec3(87.0));
    let whole = floor(exponent * 1.44269504 + 0.5);
    let x = (exponent - whole * 0.6933594) + whole * 2.1219444e-4;
    let series = 1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0
        + x * (1.0 / 120.0 + x * (1.0 / 720.0 + x / 5040.0))))));
    let power = bitcast<vec3<f32>>(vec3<u32>(vec3<i32>(whole) + vec3(127)) << vec3(23u));
    return select(series * power, vec3(0.0), exponents < vec3(-87.0));
}

/// Transforms a vector from a frame with z axis `normal` to world space.
fn from_local(normal: vec3<f32>, local: vec3<f32>) -> vec3<f32> {
    let frame = orthonormal_basis(normal);
    return frame[0] * local.x + frame[1] * local.y + normal * local.z;
}

/// Returns a right-handed orthonormal frame whose third column is the given unit vector.
fn orthonormal_basis(normal: vec3<f32>) -> mat3x3<f32> {
    let sign = select(1.0, -1.0, (bitcast<u32>(normal.z) & 0x80000000u) != 0u);
    let a = -1.0 / (sign + normal.z);
    let b = normal.x * normal.y * a;
    return mat3x3(
        vec3(1.0 + sign * normal.x * normal.x * a, sign * b, -sign * normal.x),
        vec3(b, sign + normal.y * normal.y * a, -normal.y),
        normal,
    );
}

/// Samples a direction about the z axis with PDF cos / pi, per steradian.
fn cosine_hemisphere(u: vec2<f32>) -> vec3<f32> {
    return vec3(sin_cos_turns(u.y).yx * sqrt(u.x), sqrt(max(1.0 - u.x, 0.0)));
}

/// Samples a direction uniformly over the sphere.
fn uniform_sphere(u: vec2<f32>) -> vec3<f32> {
    let z = 1.0 - 2.0 * u.x;
    return vec3(sin_cos_turns(u.y).yx * sqrt(max(1.0 - z * z, 0.0)), z);
}

/// Samples a point of the unit disc perpendicular to `axis`.
fn disc(axis: vec3<f32>, u: vec2<f32>) -> vec3<f32> {
    return from_local(axis, vec3(sin_cos_turns(u.y).yx, 0.0)) * sqrt(u.x);
}

/// Samples a direction uniformly within a cone around the unit vector `axis`.
fn uniform_cone(axis: vec3<f32>, half_angle: f32, u: vec2<f32>) -> vec3<f32> {
    let sine = sin_cos_turns(half_angle / (2.0 * TAU)).x;
    return uniform_cap(axis, 2.0 * sine * sine, u);
}

/// Samples a direction uniformly within a spherical cap of the given height on the unit sphere.
fn uniform_cap(axis: vec3<f32>, height: f32, u: vec2<f32>) -> vec3<f32> {
    let depth = u.x * height;
    let radius = sqrt(max(depth * (2.0 - depth), 0.0));
    return from_local(axis, vec3(sin_cos_turns(u.y).yx * radius, 1.0 - depth));
}

/// Samples weights of a triangle's second and third corner, uniformly in area.
fn uniform_triangle(u: vec2<f32>) -> vec2<f32> {
    return u - 0.5 * min(u.x, u.y);
}
