// Rays through the cells of a partition: the twin of `partition::tracer::trace`.
//
// A cell's coarse surfaces are tested one by one; a ray that meets none of them goes on in the one cell behind the border
// that it leaves through. A cell lists what lies near it, too, by more than rounding can shift where a ray meets it.

/// One cell.
struct Cell {
    /// The corner with the smallest coordinates, metres.
    low: vec3<f32>,
    /// Where its coarse surfaces are listed in `indices`.
    first_surface: u32,
    /// The corner with the largest coordinates.
    high: vec3<f32>,
    end_surface: u32,
    /// Where the borders of its faces start; those of a face end where those of the next start.
    borders: array<u32, 8>,
}

/// The virtual element of a border: a part of a face, and the one cell behind it.
struct Border {
    /// Its extent along the two axes that follow the one it stands upright on, cyclically.
    low: vec2<f32>,
    high: vec2<f32>,
    beyond: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
}

/// One coarse surface.
struct CoarseSurface {
    normal: vec3<f32>,
    /// Where its rim starts in `corners`.
    first_corner: u32,
    /// A point of its plane.
    anchor: vec3<f32>,
    end_corner: u32,
    /// Where its lattice starts, in the coordinates of its plane.
    lattice_low: vec2<f32>,
    /// Fields to a metre.
    lattice_scale: vec2<f32>,
    /// Fields in a row, and rows.
    lattice_size: vec2<u32>,
    /// Where in `indices` the ends of the fields' lists of fine triangles are.
    lattice: u32,
    /// The axis that its plane is seen along.
    axis: u32,
}

/// One fine triangle.
struct FineTriangle {
    a: vec3<f32>,
    /// Its edges are cut into so many parts, and it into their square of elements.
    divisions: u32,
    b: vec3<f32>,
    /// Those of the front come first.
    first_element: u32,
    c: vec3<f32>,
    /// How many sides have elements.
    sides: u32,
}

/// What a ray met.
struct CellHit {
    t: f32,
    /// The fine triangle; `NONE` where it met nothing.
    triangle: u32,
    /// Weights of the fine triangle's second and third corner.
    barycentric: vec2<f32>,
    /// The ray came from behind.
    back: bool,
    /// Cells that it went through.
    cells: u32,
    /// Coarse surfaces that it was tested against.
    surfaces: u32,
    /// Borders that were looked at to find the next cell.
    borders: u32,
}

/// Where a ray leaves a cell.
struct Exit {
    t: f32,
    /// Axis by axis, lower before upper.
    face: u32,
}

/// No index.
const NONE: u32 = 0xffffffffu;
/// The largest number.
const FARTHEST: f32 = 3.4028234e38;
/// No partition has more cells, and no ray comes into one twice.
const CELL_LIMIT: u32 = 65536u;

@group(0) @binding(2) var<storage, read> cells: array<Cell>;
@group(0) @binding(3) var<storage, read> borders: array<Border>;
@group(0) @binding(4) var<storage, read> surfaces: array<CoarseSurface>;
@group(0) @binding(5) var<storage, read> indices: array<u32>;
@group(0) @binding(6) var<storage, read> corners: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> triangles: array<FineTriangle>;

/// The coordinates along the two axes that follow one, cyclically.
fn across(v: vec3<f32>, axis: u32) -> vec2<f32> {
    return select(select(v.xy, v.zx, axis == 1u), v.yz, axis == 0u);
}

fn exit_of(cell: u32, origin: vec3<f32>, direction: vec3<f32>) -> Exit {
    let planes = select(cells[cell].low, cells[cell].high, direction > vec3(0.0));
    let is_across = direction == vec3(0.0);
    let t = select((planes - origin) / select(direction, vec3(1.0), is_across), vec3(FARTHEST), is_across);
    var exit = Exit(FARTHEST, 0u);
    if t.x < exit.t {
        exit = Exit(t.x, select(0u, 1u, direction.x > 0.0));
    }
    if t.y < exit.t {
        exit = Exit(t.y, select(2u, 3u, direction.y > 0.0));
    }
    if t.z < exit.t {
        exit = Exit(t.z, select(4u, 5u, direction.z > 0.0));
    }
    return exit;
}

/// The cell behind the border that a ray leaves a cell through, or `NONE` where the partition ends, and how many borders
/// that took.
fn behind(cell: u32, exit: Exit, origin: vec3<f32>, direction: vec3<f32>) -> vec2<u32> {
    let axis = exit.face / 2u;
    let at = across(origin, axis) + across(direction, axis) * exit.t;
    let first = cells[cell].borders[exit.face];
    let end = cells[cell].borders[exit.face + 1u];
    var next = NONE;
    var nearest = FARTHEST;
    var border = first;
    while border < end {
        let outside = max(max(borders[border].low - at, at - borders[border].high), vec2(0.0));
        let distance = outside.x + outside.y;
        if distance < nearest {
            next = borders[border].beyond;
            nearest = distance;
        }
        border++;
        if distance <= 0.0 {
            break;
        }
    }
    return vec2(next, border - first);
}

/// Whether a ray passes through a surface's rim: edges pass it on one side, upwards and downwards, as often as they go
/// around it. Edges that surfaces share cancel to the last bit.
fn encloses(surface: u32, ray: ShearedRay, origin: vec3<f32>) -> bool {
    let first = surfaces[surface].first_corner;
    let end = surfaces[surface].end_corner;
    var winding = 0i;
    var start = sheared(ray, origin, corners[end - 1u].xyz);
    for (var corner = first; corner < end; corner++) {
        let to = sheared(ray, origin, corners[corner].xyz);
        let starts_above = start.y > 0.0;
        let ends_above = to.y > 0.0;
        if starts_above != ends_above {
            let side = edge(start, to);
            winding += i32(ends_above && side > 0.0) - i32(starts_above && side < 0.0);
        }
        start = to;
    }
    return winding != 0i;
}

/// What a ray meets first that begins in a cell.
fn closest_in_cells(ray: Ray, first: u32) -> CellHit {
    let prepared = sheared_ray(ray);
    var hit = CellHit(ray.t_max, NONE, vec2(0.0), false, 0u, 0u, 0u);
    var cell = first;
    var met = NONE;
    while hit.cells < CELL_LIMIT {
        let exit = exit_of(cell, ray.origin, ray.direction);
        // What lies behind the last cell lies there by rounding.
        let is_last = cells[cell].borders[exit.face] == cells[cell].borders[exit.face + 1u];
        hit.t = min(select(exit.t, FARTHEST, is_last), ray.t_max);
        hit.cells++;
        let end = cells[cell].end_surface;
        for (var place = cells[cell].first_surface; place < end; place++) {
            hit.surfaces++;
            let surface = indices[place];
            let normal = surfaces[surface].normal;
            let slope = dot(normal, ray.direction);
            if slope == 0.0 {
                continue;
            }
            let t = dot(normal, surfaces[surface].anchor - ray.origin) / slope;
            let is_nearer = t < hit.t || (t == hit.t && surface < met);
            if t >= ray.t_min && is_nearer && encloses(surface, prepared, ray.origin) {
                hit.t = t;
                met = surface;
            }
        }
        if met != NONE || is_last || exit.t >= ray.t_max {
            break;
        }
        let next = behind(cell, exit, ray.origin, ray.direction);
        hit.borders += next.y;
        cell = next.x;
    }
    if met != NONE {
        find_triangle(&hit, ray, met);
    }
    return hit;
}

/// Finds the fine triangle: among those listed where the surface was met, the one that the point is deepest in.
fn find_triangle(hit: ptr<function, CellHit>, ray: Ray, surface: u32) {
    let axis = surfaces[surface].axis;
    let at = across(ray.origin + ray.direction * (*hit).t, axis);
    let place = max((at - surfaces[surface].lattice_low) * surfaces[surface].lattice_scale, vec2(0.0));
    let size = surfaces[surface].lattice_size;
    let field = min(u32(place.y), size.y - 1u) * size.x + min(u32(place.x), size.x - 1u);
    let list = surfaces[surface].lattice + field;
    var deepest = -FARTHEST;
    let end = indices[list + 1u];
    for (var entry = indices[list]; entry < end; entry++) {
        let triangle = indices[entry];
        let a = across(triangles[triangle].a, axis);
        let ab = across(triangles[triangle].b, axis) - a;
        let ac = across(triangles[triangle].c, axis) - a;
        let ap = at - a;
        let weights = vec2(ap.x * ac.y - ap.y * ac.x, ab.x * ap.y - ab.y * ap.x) / (ab.x * ac.y - ab.y * ac.x);
        let depth = min(min(weights.x, weights.y), 1.0 - weights.x - weights.y);
        if depth > deepest {
            deepest = depth;
            (*hit).triangle = triangle;
            (*hit).barycentric = weights;
        }
    }
    (*hit).back = dot(surfaces[surface].normal, ray.direction) > 0.0;
}

/// The cell that holds a point, known to be near one that holds another.
fn cell_towards(start: vec3<f32>, end: vec3<f32>, first: u32) -> u32 {
    var cell = first;
    for (var step = 0u; step < CELL_LIMIT; step++) {
        let exit = exit_of(cell, start, end - start);
        if exit.t >= 1.0 {
            break;
        }
        let next = behind(cell, exit, start, end - start).x;
        if next == NONE {
            break;
        }
        cell = next;
    }
    return cell;
}
