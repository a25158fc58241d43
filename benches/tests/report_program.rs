//! The program `report`: a quick run gives every scenario its rows, and benches/README.md has the form that
//! the program writes. No test checks a speed.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use queue_benches::{
    redis::placement::Placement,
    report::{effort::Effort, readme, row::Row, scenarios, summary},
};

/// Many times the duration of a quick run, so that only a program that hangs exceeds it.
const PATIENCE: Duration = Duration::from_secs(300);

/// A folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("queue-report-{}-{name}", std::process::id());
        Self(env::temp_dir().join(name))
    }

    fn read(&self, name: &str) -> String {
        let path = self.0.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn rows(&self) -> Vec<Row> {
        serde_json::from_str(&self.read("report.json")).expect("the program's own rows")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the program to its end, or kills it.
fn report(words: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_report"));
    let command = command.args(words).arg("--out").arg(folder);
    let mut program = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Read while it runs: a full pipe would stop it.
    let mut stdout = program.stdout.take().expect("a pipe");
    let mut stderr = program.stderr.take().expect("a pipe");
    let read = |pipe: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).map(|_| bytes)
    };
    thread::scope(|scope| {
        let stdout = scope.spawn(move || read(&mut stdout));
        let stderr = scope.spawn(move || read(&mut stderr));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = program.try_wait().expect("its status") {
                break status;
            }
            if start.elapsed() > PATIENCE {
                program.kill().expect("it is killed");
                let _ = program.wait();
                panic!("{words:?} has not ended after {PATIENCE:?}");
            }
            thread::sleep(Duration::from_millis(20));
        };
        let [stdout, stderr] = [stdout, stderr].map(|pipe| {
            let read = pipe.join().expect("no panic");
            read.expect("the pipe is read")
        });
        Output {
            status,
            stdout,
            stderr,
        }
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_quick_run_gives_every_scenario_its_rows() {
    let folder = Folder::new("quick");
    let placements = Placement::pinned();
    let run = report(&["--quick"], &folder.0);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let rows = folder.rows();
    let place = |row: &Row| {
        let (scenario, case, figure) = (&row.scenario, &row.case, &row.figure);
        format!("{} / {scenario}, {case}: {figure}", row.placement)
    };
    let mut expected = BTreeSet::new();
    for placement in &placements {
        for scenario in scenarios::ALL {
            for case in (scenario.cases)() {
                expected.extend(scenario.figures.iter().map(|figure| {
                    let (scenario, case) = (scenario.name, &case.name);
                    format!("{placement} / {scenario}, {case}: {}", figure.name)
                }));
            }
        }
    }
    let found: Vec<String> = rows.iter().map(place).collect();
    assert_eq!(found.iter().cloned().collect::<BTreeSet<_>>(), expected);
    assert_eq!(found.len(), expected.len(), "a row came twice");
    for row in &rows {
        assert_eq!(
            (row.effort, row.pairs),
            (Effort::Quick, 2),
            "{}",
            place(row)
        );
        assert!(row.floor.is_finite() && row.floor > 0.0, "{}", place(row));
        for spread in [row.ours, row.theirs, row.ratio] {
            let values = [spread.min, spread.median, spread.max];
            let sound = values.iter().all(|value| value.is_finite() && *value > 0.0);
            assert!(sound && values.is_sorted(), "{}: {values:?}", place(row));
        }
    }

    let table = folder.read("report.txt");
    assert!(text(&run.stdout).starts_with(&table));
    for scenario in scenarios::ALL {
        assert!(table.contains(&format!("\n{}: {}\n", scenario.name, scenario.sentence())));
    }

    // The page can be written from it.
    let part = readme::part(&rows).unwrap();
    let page = readme::replace(&format!("{}\n{}", readme::BEGIN, readme::END), &part).unwrap();
    has_form(&page);
}

#[test]
fn one_scenario_alone_can_be_asked_for() {
    let folder = Folder::new("only");
    let run = report(&["--quick", "--only", "memory"], &folder.0);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let rows = folder.rows();
    assert!(rows.iter().all(|row| row.scenario == "memory"));
    assert!(!rows.is_empty());
    // The page is not written from a part of a report.
    let refused = report(&["--readme"], &folder.0);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("it lacks worker, 1 on same"));
}

#[test]
fn errors_name_the_way_out() {
    let folder = Folder::new("wrong");
    let unknown = report(&["--only", "everything"], &folder.0);
    assert_eq!(unknown.status.code(), Some(2));
    let stderr = text(&unknown.stderr);
    assert!(stderr.contains("possible values: worker, threads, load"));
    assert!(stderr.contains("--help"));

    let missing = report(&["--readme"], &folder.0);
    assert_eq!(missing.status.code(), Some(1));
    let stderr = text(&missing.stderr);
    assert!(
        stderr.contains("report.json") && stderr.contains("run the program without --readme first")
    );

    fs::write(&folder.0, "a file").unwrap();
    let taken = report(&["--quick"], &folder.0);
    fs::remove_file(&folder.0).unwrap();
    assert_eq!(taken.status.code(), Some(1));
    let stderr = text(&taken.stderr);
    assert!(stderr.contains("cannot make the folder") && stderr.contains("--out names another"));
}

#[test]
fn the_page_has_the_form_that_the_program_writes() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(here.join("README.md")).unwrap();
    has_form(&page);
}

#[test]
fn the_readme_has_figures_of_the_page() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(here.join("README.md")).unwrap();
    let readme = fs::read_to_string(here.join("../README.md")).unwrap();
    let figures = readme::current(&readme).unwrap().trim_start();
    assert_eq!(figures, summary::part(&page).unwrap());
}

/// Its table has the program's columns, scenarios, cases, figures and raw commands, in their order.
fn has_form(page: &str) {
    const RENEW: &str = "measure again, and write the page by `report --readme`";
    let (lines, form) = (readme::lines(page).unwrap(), readme::form());
    for (line, form) in lines.iter().zip(&form) {
        assert!(
            line.starts_with(form.as_str()),
            "the page has\n{line}\nand the program\n{form}\n{RENEW}"
        );
    }
    assert_eq!(lines.len(), form.len(), "lines of the table: {RENEW}");
}
