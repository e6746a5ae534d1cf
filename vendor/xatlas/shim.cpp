// What of xatlas the lightmap unwrapper calls, in plain C arrays.
//
// xatlas gives its charts away only after packing them, scaled to whole texels. Ours are packed elsewhere, so this file
// is one unit with its source, and reads the charts as they were laid flat.

// Threads are the caller's: meshes are unwrapped side by side. Standard output is the caller's too.
#define XA_MULTITHREADED 0
#define XA_DEBUG 0
#define XA_ASSERT(expression)
#define XA_DEBUG_ASSERT(expression)
#define XA_PRINT(...)
#define XA_PRINT_WARNING(...)
// Another copy of xatlas in the same program keeps its names.
#define xatlas bevy_radiosity_xatlas
#include "xatlas.cpp"

#include <memory>

namespace {

struct Destroyer
{
	void operator()(xatlas::Atlas *atlas) const { xatlas::Destroy(atlas); }
};

enum Outcome
{
	DONE = 0,
	STOPPED = 1,
	FAILED = 2,
};

struct Caller
{
	bool (*is_cancelled)(const void *context);
	const void *context;
	// Half of xatlas's work must not meet the other half undone: who has cancelled once has cancelled.
	bool cancelled;
};

bool go_on(xatlas::ProgressCategory, int, void *data)
{
	auto *caller = static_cast<Caller *>(data);
	caller->cancelled = caller->cancelled || caller->is_cancelled(caller->context);
	return !caller->cancelled;
}

} // namespace

// Groups the triangles of a mesh into charts and lays them flat: a number for each triangle in `charts`, x and y of its
// three corners in `points`. Entries of triangles that xatlas takes for degenerate stay as they are.
extern "C" int radiosity_xatlas_charts(
	const float *positions, uint32_t vertex_count, const uint32_t *triangles, uint32_t triangle_count,
	bool (*is_cancelled)(const void *context), const void *context, uint32_t *charts, float *points)
try {
	const std::unique_ptr<xatlas::Atlas, Destroyer> atlas(xatlas::Create());
	Caller caller = { is_cancelled, context, false };
	xatlas::SetProgressCallback(atlas.get(), go_on, &caller);
	xatlas::MeshDecl mesh;
	mesh.vertexPositionData = positions;
	mesh.vertexPositionStride = 3 * sizeof(float);
	mesh.vertexCount = vertex_count;
	mesh.indexData = triangles;
	mesh.indexFormat = xatlas::IndexFormat::UInt32;
	mesh.indexCount = 3 * triangle_count;
	if (xatlas::AddMesh(atlas.get(), mesh) != xatlas::AddMeshError::Success)
		return FAILED;
	xatlas::ComputeCharts(atlas.get());
	const auto &charted = reinterpret_cast<const xatlas::Context *>(atlas.get())->paramAtlas;
	if (caller.cancelled)
		return STOPPED;
	if (!charted.chartsComputed())
		return FAILED;
	uint32_t next = 0;
	for (uint32_t g = 0; g < charted.chartGroupCount(0); g++) {
		const auto *group = charted.chartGroupAt(0, g);
		for (uint32_t c = 0; c < group->chartCount(); c++, next++) {
			const auto *chart = group->chartAt(c);
			const auto *flat = chart->unifiedMesh();
			for (uint32_t face = 0; face < flat->faceCount(); face++) {
				const uint32_t triangle = chart->mapFaceToSourceFace(face);
				charts[triangle] = next;
				for (uint32_t corner = 0; corner < 3; corner++) {
					const auto &point = flat->texcoord(flat->vertexAt(face * 3 + corner));
					points[triangle * 6 + corner * 2] = point.x;
					points[triangle * 6 + corner * 2 + 1] = point.y;
				}
			}
		}
	}
	return DONE;
} catch (...) {
	return FAILED;
}
