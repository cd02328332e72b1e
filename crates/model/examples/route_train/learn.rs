//! Multinomial logistic regression over hashed features: stochastic gradient with Adagrad, fixed order.

use throughline_model::router::act::ACTS;
use throughline_model::router::features::{BUCKETS, features};
use throughline_model::router::weights::Weights;

use crate::corpus::{Corpus, Sample};

const ROUNDS: usize = 14;
const RATE: f32 = 0.35;
const DECAY: f32 = 2e-6;
const LIMIT: f32 = 9.0;

/// Trains weights from samples.
pub fn learn(samples: &[Sample], corpus: &Corpus) -> Weights {
    let inputs: Vec<(Vec<u32>, usize)> = samples.iter().map(|s| (features(&s.text), s.act as usize)).collect();
    let mut cells = vec![0.0_f32; BUCKETS * ACTS.len()];
    let mut history = vec![1e-3_f32; BUCKETS * ACTS.len()];
    let mut bias = [0.0_f32; ACTS.len()];
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    let mut seed = 0x00c0_ffee_u64;
    for _ in 0..ROUNDS {
        for at in (1..order.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(at, (seed >> 33) as usize % (at + 1));
        }
        for index in &order {
            let (buckets, act) = &inputs[*index];
            step(buckets, *act, &mut cells, &mut history, &mut bias);
        }
    }
    let scale = LIMIT / 127.0;
    let cells = cells.iter().map(|w| (w / scale).round().clamp(-127.0, 127.0) as i8).collect();
    Weights {
        scale,
        bias,
        cells,
        assent: corpus.assent.clone(),
        lasting: corpus.lasting.clone(),
        hedges: corpus.hedges.clone(),
        common: corpus.common.clone(),
    }
}

fn step(buckets: &[u32], act: usize, cells: &mut [f32], history: &mut [f32], bias: &mut [f32; ACTS.len()]) {
    let value = 1.0 / (buckets.len().max(1) as f32).sqrt();
    let mut scores = *bias;
    for bucket in buckets {
        let row = &cells[*bucket as usize * ACTS.len()..][..ACTS.len()];
        for (score, cell) in scores.iter_mut().zip(row) {
            *score += cell * value;
        }
    }
    let most = scores.iter().copied().fold(f32::MIN, f32::max);
    let mut gradient = scores.map(|s| exp(s - most));
    let total: f32 = gradient.iter().sum();
    for (index, g) in gradient.iter_mut().enumerate() {
        *g = *g / total - if index == act { 1.0 } else { 0.0 };
    }
    for (slot, g) in bias.iter_mut().zip(gradient) {
        *slot -= 0.002 * g;
    }
    for bucket in buckets {
        let at = *bucket as usize * ACTS.len();
        let row = cells[at..at + ACTS.len()].iter_mut().zip(&mut history[at..at + ACTS.len()]);
        for ((cell, past), g) in row.zip(gradient) {
            let slope = g * value + DECAY * *cell;
            *past += slope * slope;
            *cell -= RATE * slope / past.sqrt();
        }
    }
}

/// The exponential of a number that is not positive, by halving and a short series: the same on every machine.
fn exp(x: f32) -> f32 {
    if x < -30.0 {
        return 0.0;
    }
    let mut doublings = 0;
    let mut small = x;
    while small < -0.5 {
        small *= 0.5;
        doublings += 1;
    }
    let mut y = 1.0 + small * (1.0 + small * (0.5 + small * (1.0 / 6.0 + small * (1.0 / 24.0 + small / 120.0))));
    for _ in 0..doublings {
        y *= y;
    }
    y
}
