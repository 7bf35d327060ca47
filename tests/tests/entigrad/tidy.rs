//! The rules of the house, read from the sources: directions, sizes, places, words.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files with this ending, apart from what is built.
fn files(ending: &str) -> Vec<(String, String)> {
    let mut folders = vec![root()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !matches!(&*name, "target" | ".git" | "out") {
                folders.push(path);
            } else if name.ends_with(ending) {
                let short = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.push((short, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Files that may be longer than the limit, each with its reason.
const LONGER: &[(&str, usize, &str)] = &[
    ("tests/tests/entigrad/scenes/wrong_scenes.rs", 440, "every message of a wrong scene, pinned whole"),
    ("engine/src/autodiff.rs", 600, "everything that a user can call, in one place"),
    ("systems/src/kernels/fold.rs", 420, "one tree of additions, along rows and along columns"),
    ("systems/src/training.rs", 490, "every stage of a trainer, and its steps"),
];

#[test]
fn no_source_file_is_longer_than_400_lines() {
    let offenders: Vec<String> = files(".rs")
        .into_iter()
        .filter(|(path, text)| {
            let limit = LONGER.iter().find(|(longer, ..)| longer == path).map_or(400, |(_, limit, _)| *limit);
            text.lines().count() > limit
        })
        .map(|(path, text)| format!("{path}: {} lines", text.lines().count()))
        .collect();
    assert!(offenders.is_empty(), "{offenders:#?}");
}

#[test]
fn no_function_is_longer_than_70_lines() {
    let mut offenders = Vec::new();
    for (path, text) in files(".rs") {
        let mut open: Option<(usize, String, usize)> = None;
        for (number, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let is_head =
                line.trim_start().starts_with("fn ") || line.contains(" fn ") && !line.trim_start().starts_with("//");
            if open.is_none() && is_head && !line.trim_end().ends_with([';', '}', ',']) {
                open = Some((number, line.trim().to_owned(), indent));
            } else if let Some((start, head, head_indent)) = &open
                && line.trim_start().starts_with('}')
                && indent == *head_indent
            {
                if number - start > 70 {
                    offenders.push(format!("{path}:{}: {head}: {} lines", start + 1, number - start));
                }
                open = None;
            }
        }
    }
    assert!(offenders.is_empty(), "{offenders:#?}");
}

#[test]
fn every_source_file_begins_by_saying_what_it_is() {
    let silent: Vec<String> = files(".rs")
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!") && !text.starts_with("#![doc"))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn packages_depend_in_one_direction() {
    let manifests: BTreeMap<String, String> = files("Cargo.toml").into_iter().collect();
    let dependencies = |package: &str| {
        let text = &manifests[&format!("{package}/Cargo.toml")];
        let ours = ["entigrad-components", "entigrad-systems", "entigrad", "entigrad-tests"];
        ours.into_iter().filter(|name| text.contains(&format!("\n{name}.workspace = true"))).collect::<Vec<_>>()
    };
    assert!(dependencies("components").is_empty());
    assert_eq!(dependencies("systems"), ["entigrad-components"]);
    assert_eq!(dependencies("engine"), ["entigrad-components", "entigrad-systems"]);
    // Only the engine knows RON, files and the terminal.
    for package in ["components", "systems"] {
        let text = &manifests[&format!("{package}/Cargo.toml")];
        for outside in ["ron", "csv", "clap", "safetensors", "serde"] {
            assert!(!text.contains(&format!("\n{outside}.workspace")), "{package} depends on {outside}");
        }
    }
}

#[test]
fn unsafe_and_rayon_stay_in_their_rooms() {
    for (path, text) in files(".rs") {
        let is_kernel = path.starts_with("systems/src/kernels/")
            || matches!(
                &*path,
                "systems/src/execute/mod.rs"
                    | "systems/src/execute/many.rs"
                    | "systems/src/execute/values.rs"
                    | "tests/src/allocation.rs"
                    | "engine/examples/bench/scheduling.rs"
            );
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let is_unsafe = ["unsafe {", "unsafe fn", "unsafe impl"].iter().any(|word| line.contains(word));
            assert!(is_kernel || path.ends_with("tidy.rs") || !is_unsafe, "{path}: {line}");
            let may_know_rayon = path.starts_with("systems/src/parallel.rs")
                || path.starts_with("tests/")
                || path.starts_with("engine/");
            assert!(may_know_rayon || !line.contains("rayon::"), "{path}: {line}");
        }
    }
}

#[test]
fn paths_named_in_the_architecture_page_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(text.lines().count() < 200, "ARCHITECTURE.md is {} lines long", text.lines().count());
    let mut count = 0;
    for word in text.split('`').skip(1).step_by(2) {
        let is_path = word.contains('/') && !word.contains([' ', '(', ':', '<', '*', '{']);
        if is_path {
            count += 1;
            assert!(root().join(word).exists(), "ARCHITECTURE.md names `{word}`, which is not there");
        }
    }
    assert!(count > 10);
}

#[test]
fn nothing_is_left_unfinished() {
    let words = ["todo!(", "unimplemented!(", "dbg!(", "#[ignore", "should_panic", "FIXME", "XXX"];
    for (path, text) in files(".rs").into_iter().filter(|(path, _)| !path.ends_with("tidy.rs")) {
        for word in words {
            assert!(!text.contains(word), "{path} has `{word}`");
        }
    }
}
