//! Our frames and the built-in agent, over a pipe in memory: what we build it understands, and the other way
//! round. Every wait is for a line, and bounded.

use std::path::Path;
use std::time::Duration;

use throughline_acp::happening::Initialized;
use throughline_acp::outgoing::{self, PermissionAnswer, PromptBlock, Surroundings};
use throughline_acp::{Happening, Opening, OutgoingFrame, Phase, Quirks, Start, demo};
use throughline_model::approval::OptionKind;
use throughline_model::ids::TurnId;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};

use crate::script::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// An agent and what we make of its output.
struct Peer {
    input: WriteHalf<DuplexStream>,
    output: BufReader<ReadHalf<DuplexStream>>,
    reader: Reader,
}

impl Peer {
    fn start(state: &Path, epoch: u64, opening: Opening) -> Self {
        let (near, far) = duplex(64 * 1024);
        let (far_in, far_out) = split(far);
        let state = state.to_owned();
        tokio::spawn(async move { demo::serve(&state, far_in, far_out).await });
        let (output, input) = split(near);
        let start = Start::new(session(), epoch, Phase::Opening(opening));
        Self { input, output: BufReader::new(output), reader: Reader::new(start) }
    }

    async fn write(&mut self, frame: &OutgoingFrame) {
        self.input.write_all(&frame.bytes).await.expect("the agent reads");
    }

    /// Reads on until something happens that is waited for; gives all that happened.
    async fn until(&mut self, mut wanted: impl FnMut(&Happening) -> bool) -> Vec<Happening> {
        let mut happened = Vec::new();
        while !happened.iter().any(&mut wanted) {
            let mut line = Vec::new();
            let read = self.output.read_until(b'\n', &mut line);
            let bytes = tokio::time::timeout(PATIENCE, read).await.expect("a line in time").expect("a line");
            assert_ne!(bytes, 0, "the agent went away after {:?}", brief(&happened));
            happened.extend(self.reader.line(line.strip_suffix(b"\n").unwrap_or(&line)));
        }
        happened
    }

    async fn initialize(&mut self) -> Initialized {
        self.write(&outgoing::initialize("0.0.0", &Quirks::default())).await;
        let mut happened = self.until(|told| matches!(told, Happening::Initialized(_))).await;
        match happened.pop() {
            Some(Happening::Initialized(initialized)) => initialized,
            other => panic!("{other:?}"),
        }
    }

    async fn open(&mut self, frame: &OutgoingFrame) -> Vec<Happening> {
        self.write(frame).await;
        self.until(|told| matches!(told, Happening::Opened { .. } | Happening::OpenFailed { .. })).await
    }

    /// Runs a turn and says yes to whatever is asked.
    async fn prompt(&mut self, turn: TurnId, native: &str, text: &str) -> Vec<Happening> {
        let mut happened = self.reader.assembler.begin_turn(turn);
        self.write(&outgoing::prompt(turn, native, &[PromptBlock::Text(text.to_owned())])).await;
        loop {
            let pause =
                |told: &Happening| matches!(told, Happening::TurnAnswered { .. } | Happening::PermissionRequested(_));
            happened.extend(self.until(pause).await);
            let Some(Happening::PermissionRequested(asked)) = happened.last() else {
                return happened;
            };
            let yes = asked.options.iter().find(|option| option.kind == OptionKind::AllowOnce).expect("a yes");
            let answer = PermissionAnswer::Selected(yes.id.clone());
            let frame = outgoing::answer_permission(asked.at, &asked.request, answer);
            self.write(&frame).await;
        }
    }
}

fn native_of(happened: &[Happening]) -> String {
    match happened.last() {
        Some(Happening::Opened { native: Some(native), .. }) => native.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_turn_with_everything_in_it() {
    let home = tempfile::tempdir().expect("a folder");
    let cwd = home.path().to_str().expect("a name");
    let mut peer = Peer::start(home.path(), 1, Opening::New);
    let told = peer.initialize().await;
    assert!(told.capabilities.load && told.capabilities.resume && told.capabilities.fork);
    let native = native_of(&peer.open(&outgoing::new_session(Surroundings::folder(cwd))).await);

    let happened = peer.prompt(turn(1), &native, "say hello\nrun echo out\nplan a; b\nask why").await;
    let lines = brief(&happened);
    let has = |part: &str| assert!(lines.iter().any(|line| line.contains(part)), "{part} in {lines:#?}");
    has(r#"message "hello"#);
    has("asks ");
    has("Completed execute");
    has("out\\n");
    has("plan a=Completed b=Completed");
    has("question ");
    assert_eq!(lines.last().map(String::as_str), Some("turn EndTurn"));
    assert!(!lines.iter().any(|line| line.starts_with("note")), "{lines:#?}");
    let mark = peer.reader.mark();
    assert_eq!(mark.safe, mark.seen);
}

#[tokio::test]
async fn another_process_goes_on_and_the_past_is_not_told_twice() {
    let home = tempfile::tempdir().expect("a folder");
    let cwd = home.path().to_str().expect("a name");
    let mut first = Peer::start(home.path(), 1, Opening::New);
    first.initialize().await;
    let native = native_of(&first.open(&outgoing::new_session(Surroundings::folder(cwd))).await);
    first.prompt(turn(1), &native, "say hello").await;
    first.write(&outgoing::close_session(&native)).await;
    first.until(|told| matches!(told, Happening::Done(_))).await;

    for (epoch, opening) in [(2, Opening::Resume), (3, Opening::Load)] {
        let mut peer = Peer::start(home.path(), epoch, opening);
        peer.initialize().await;
        let frame = match opening {
            Opening::Load => outgoing::load_session(&native, Surroundings::folder(cwd)),
            _ => outgoing::resume_session(&native, Surroundings::folder(cwd)),
        };
        let happened = peer.open(&frame).await;
        assert_eq!(items(&happened), [], "{opening:?}");
        let recalled = brief(&peer.prompt(turn(epoch as u32), &native, "recall").await);
        assert!(recalled.iter().any(|line| line.starts_with("message") && line.contains("say hello")), "{recalled:?}");
        peer.write(&outgoing::close_session(&native)).await;
        peer.until(|told| matches!(told, Happening::Done(_))).await;
    }
}

#[tokio::test]
async fn a_session_that_is_not_there_is_unknown() {
    let home = tempfile::tempdir().expect("a folder");
    let cwd = home.path().to_str().expect("a name");
    let mut peer = Peer::start(home.path(), 1, Opening::Resume);
    peer.initialize().await;
    let happened = peer.open(&outgoing::resume_session("nowhere", Surroundings::folder(cwd))).await;
    assert_eq!(brief(&happened), ["open failed UnknownSession"]);
}
