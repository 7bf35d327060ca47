//! Scenes that are wrong: file, line, column, what it is, the line, and carets under the place.

use super::{DATA, Folder, SCENE, edited};

/// What is replaced in the scene, by what, and what is then said.
const WRONG: &[(&str, &str, &str)] = &[
];

#[test]
fn a_wrong_scene_is_shown_where_it_is_wrong() {
    for (from, to, wanted) in WRONG {
        let complaint = Folder::new(edited(SCENE, from, to), DATA).complaint();
        println!("## {from:?} {to:?}\n{complaint}\n");
    }
}
