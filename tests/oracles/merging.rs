//! Shards' statistics add up to the same in any order and any split.

use crate::made::{START, crowd};
use lowrho::record::{Interval, Recorder, Window};
use lowrho::time::Span;

fn recorder() -> Recorder {
    Recorder::new(&[Window::of_time(START, START + Span::from_s(10))])
}

#[test]
fn merging_is_associative_and_commutative_and_equals_one_shard_that_saw_all() {
    let requests = crowd(1_000, 10);
    let mut whole = recorder();
    let mut parts = [recorder(), recorder(), recorder()];
    for (n, finished) in requests.iter().enumerate() {
        whole.finish(finished);
        parts[n % 3].finish(finished);
    }
    let [a, b, c] = parts;
    let with = |mut left: Recorder, right: &Recorder| {
        left.merge(right);
        left
    };
    let left = with(with(a.clone(), &b), &c);
    let right = with(a.clone(), &with(b.clone(), &c));
    let turned = with(with(c, &a), &b);
    assert!(left == right, "(a + b) + c is not a + (b + c)");
    assert!(left == turned, "order matters");
    assert!(left == whole, "the parts are not the whole");
}

#[test]
fn the_intervals_of_a_run_add_up_to_its_histograms() {
    let mut recorder = recorder();
    let (mut before, mut sum) = (Interval::default(), Interval::default());
    for (n, finished) in crowd(600, 10).iter().enumerate() {
        recorder.finish(finished);
        if n % 50 == 49 {
            let so_far = recorder.counted();
            let interval = so_far.without(&before);
            let (_, ttft) = interval.histograms().next().expect("TTFT is the first");
            assert!((1..=50).contains(&ttft.count()), "{} came since the last", ttft.count());
            sum.merge(&interval);
            before = so_far;
        }
    }
    for (metric, histogram) in sum.histograms() {
        let all = recorder.stages()[0].tally(metric).values();
        assert!(all.count() > 0, "{metric:?} was never seen");
        assert!(histogram.buckets().eq(all.buckets()), "{metric:?}");
    }
}
