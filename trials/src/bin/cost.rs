//! Reads one call once and again: `cost today|A|B hermes|qwen 2k|1m CHUNK shown|not TIMES`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cogency_rs::dialect::presets;
use cogency_rs::protocol::body::{Early, Scope};
use cogency_rs::protocol::grammar::Entry;
use cogency_rs::protocol::{Ending, Strictness};
use trials::block::BlockReader;
use trials::cursor::Task;
use trials::extent::AnyItem;
use trials::item::Today;
use trials::oracle::{Block, Said, scopes, written};

struct Counting;
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        COUNT.fetch_add(1, Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn read<B: Block>(name: &str, scope: &Scope, text: &[u8], chunk: usize) -> (u128, usize) {
    let mut block = B::new(presets::preset(name).unwrap(), entry(name), scope.clone());
    let (mut at, mut shown, mut most) = (0, 0, 0);
    loop {
        at = (at + chunk).min(text.len());
        let begins = std::time::Instant::now();
        let said = block.read(&text[..at]);
        if at + 200 > text.len() {
            most = most.max(begins.elapsed().as_nanos());
        }
        shown += block.news().0.len();
        match said {
            Said::More if at < text.len() => {}
            Said::Complete(_, Ok(events)) => return (most, events.len() + shown),
            other => panic!("{other:?} {:?}", block.cut_off(text, &Ending::Unknown)),
        }
    }
}

fn entry(name: &str) -> Entry {
    if name == "gemma4" { Entry::Call(0) } else { Entry::Block }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, design, shape, size, chunk, shown, times] = &args[..] else { panic!("arguments") };
    let lines = match &**size {
        "2k" => 30,
        "1m" => 16_000,
        _ => panic!(),
    };
    let content =
        "    if (a < b) { print(\"caf\u{e9} \\\\ it's so\"); } // and more of it\n".repeat(lines);
    let args = serde_json::json!({"q": content, "n": 5}).to_string();
    let name = match &**shape {
        "hermes" => "hermes",
        "gemma" => "gemma4",
        _ => "qwen3-coder",
    };
    let text = written(name, &[("search", &args)]);
    let mut scope: Scope = scopes().pop().unwrap();
    scope.strictness = Strictness::Strict;
    scope.early = if shown == "shown" { Early::Exact } else { Early::Nothing };
    scope.starts_early = false;
    let chunk = match chunk.parse().unwrap() {
        0 => text.len(),
        n => n,
    };
    let (before, count) = (NOW.load(Relaxed), COUNT.load(Relaxed));
    PEAK.store(before, Relaxed);
    let mut least = u128::MAX;
    let times: usize = times.parse().unwrap();
    for _ in 0..times {
        let (took, _) = match &**design {
            "today" => read::<BlockReader<Today>>(name, &scope, &text, chunk),
            "A" => read::<BlockReader<AnyItem>>(name, &scope, &text, chunk),
            "B" => read::<BlockReader<Task>>(name, &scope, &text, chunk),
            _ => panic!(),
        };
        least = least.min(took);
    }
    println!(
        "{design} {shape} {size} text {} chunk {chunk} {shown}: peak {} allocations {} longest of the last chunks {} us",
        text.len(),
        PEAK.load(Relaxed) - before,
        (COUNT.load(Relaxed) - count) / times,
        least as f64 / 1000.0
    );
    let _ = Arc::new(0);
}
