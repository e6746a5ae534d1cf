//! Measurement of GPU time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::frame_budget::{Measurement, Time};
use crate::clock::{self, Instant};

/// Maximum number of frames in flight. More would queue up on a slow GPU.
const MAX_IN_FLIGHT: u32 = 2;
/// Maximum number of frames in flight without timestamps: the second of two would seem to take as long as both.
const MAX_IN_FLIGHT_WITHOUT_CLOCK: u32 = 1;

/// Measures the GPU time of a view's frames. Results arrive some frames later.
pub struct Stopwatch {
    clock: Option<Clock>,
    results: Arc<Results>,
}

#[derive(Default)]
struct Results {
    measured: Mutex<Vec<Measurement>>,
    under_way: AtomicU32,
    polls: AtomicU32,
}

/// GPU timestamps.
struct Clock {
    times: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    spare: Arc<Mutex<Vec<wgpu::Buffer>>>,
    nanoseconds_per_tick: f32,
}

const BYTES: u64 = 16;

impl Stopwatch {
    /// Returns true if a device has timestamps.
    pub fn has_clock(device: &wgpu::Device) -> bool {
        let needed = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS;
        device.features().contains(needed)
    }

    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        Self { clock: Self::has_clock(device).then(|| Clock::new(device, queue)), results: Arc::default() }
    }

    /// Polls the device, and returns the measurements that have arrived since the last call.
    pub fn poll(&self, device: &wgpu::Device) -> Vec<Measurement> {
        // The renderer reports a lost device.
        let _ = device.poll(wgpu::PollType::Poll);
        self.results.polls.fetch_add(1, Ordering::Relaxed);
        core::mem::take(&mut self.results.measured.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns true if enough frames are in flight.
    pub fn is_behind(&self) -> bool {
        let max_in_flight = if self.clock.is_some() { MAX_IN_FLIGHT } else { MAX_IN_FLIGHT_WITHOUT_CLOCK };
        self.results.under_way.load(Ordering::Relaxed) >= max_in_flight
    }

    /// Starts a measurement. Some of the measured work may be submitted before [`Stopwatch::stop`].
    pub fn start(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> Instant {
        if let Some(clock) = &self.clock {
            // Software drivers write all timestamps of a submission at its end, so the first one needs its own
            // submission.
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.write_timestamp(&clock.times, 0);
            queue.submit([encoder.finish()]);
        }
        clock::now()
    }

    /// Ends a measurement and submits the encoder. `pixels` is the number of paths, indexed by
    /// [`PassKind`](crate::pathtrace::PassKind).
    pub fn stop(
        &self,
        started: Instant,
        mut encoder: wgpu::CommandEncoder,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        pixels: [f32; 2],
    ) {
        self.results.under_way.fetch_add(1, Ordering::Relaxed);
        let results = Arc::clone(&self.results);
        let Some(clock) = &self.clock else {
            queue.submit([encoder.finish()]);
            let poll = results.polls.load(Ordering::Relaxed);
            queue.on_submitted_work_done(move || {
                let at_first_poll = results.polls.load(Ordering::Relaxed) == poll;
                let milliseconds = started.elapsed().as_secs_f32() * 1000.0;
                results.note(Some(Measurement { pixels, time: Time::Waited { milliseconds, at_first_poll } }));
            });
            return;
        };
        encoder.write_timestamp(&clock.times, 1);
        encoder.resolve_query_set(&clock.times, 0..2, &clock.resolved, 0);
        let copy = clock.take_spare(device);
        encoder.copy_buffer_to_buffer(&clock.resolved, 0, &copy, 0, BYTES);
        queue.submit([encoder.finish()]);
        let (buffer, spare, period) = (copy.clone(), Arc::clone(&clock.spare), clock.nanoseconds_per_tick);
        copy.slice(..).map_async(wgpu::MapMode::Read, move |mapped| {
            let ticks = mapped.ok().map(|()| {
                let ticks = bytemuck::pod_collect_to_vec::<u8, u64>(&buffer.slice(..).get_mapped_range());
                buffer.unmap();
                spare.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
                ticks[1].saturating_sub(ticks[0])
            });
            results.note(ticks.map(|ticks| {
                let milliseconds = ticks as f32 * period * 1e-6;
                Measurement { pixels, time: Time::Gpu(milliseconds) }
            }));
        });
    }
}

impl Results {
    fn note(&self, measurement: Option<Measurement>) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        self.measured.lock().unwrap_or_else(PoisonError::into_inner).extend(measurement);
    }
}

impl Clock {
    fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        Self {
            times: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("live view's clock"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("live view's clock"),
                size: BYTES,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
            spare: Arc::default(),
            nanoseconds_per_tick: queue.get_timestamp_period(),
        }
    }

    fn take_spare(&self, device: &wgpu::Device) -> wgpu::Buffer {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("live view's time"),
                size: BYTES,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        })
    }
}
