//! Scenes that are wrong: file, line, column, what it is, the line, and carets under the place.

use super::{DATA, Folder, SCENE, edited};

/// What is replaced in the scene, by what, and what is then said.
const WRONG_FORM: &[(&str, &str, &str)] = &[
    (
        "epochs: 3",
        "epochs: 3.0",
        r#"kinds.ron:15:17: `train.epochs` takes a whole number, not `3.0`
        epochs: 3.0,
                ^^^"#,
    ),
    (
        "epochs: 3",
        "epochs: -1",
        r#"kinds.ron:15:17: `train.epochs` cannot be negative
        epochs: -1,
                ^^"#,
    ),
    (
        "epochs: 3",
        r#"epochs: "3""#,
        r#"kinds.ron:15:17: `train.epochs` takes a whole number, not `"3"`
        epochs: "3",
                ^^^"#,
    ),
    (
        "epochs: 3",
        "epoch: 3",
        r#"kinds.ron:15:9: `train` has no field `epoch`; did you mean `epochs`?
        epoch: 3,
        ^^^^^"#,
    ),
    (
        "seed: 7",
        "seed: 99999999999999999999",
        r#"kinds.ron:3:11: `seed` cannot be so large
    seed: 99999999999999999999,
          ^^^^^^^^^^^^^^^^^^^^"#,
    ),
    (
        "        epochs: 3,\n",
        "",
        r#"kinds.ron:12:5: `train` lacks the field `epochs`
    train: (
    ^^^^^"#,
    ),
    (
        "learning_rate: 0.05",
        "0.05",
        r#"kinds.ron:13:25: `train.optimizer` takes named fields, `name: value`
        optimizer: Adam(0.05),
                        ^^^^"#,
    ),
    (
        "learning_rate: 0.05",
        "learning_rate: fast",
        r#"kinds.ron:13:40: `train.optimizer.learning_rate` takes a number, not `fast`
        optimizer: Adam(learning_rate: fast),
                                       ^^^^"#,
    ),
    (
        "Adam(learning_rate: 0.05)",
        "Adm(learning_rate: 0.05)",
        r#"kinds.ron:13:20: `train.optimizer` cannot be `Adm`; did you mean `Adam`?
        optimizer: Adm(learning_rate: 0.05),
                   ^^^"#,
    ),
    (
        "Adam(learning_rate: 0.05)",
        "Adam",
        r#"kinds.ron:13:20: `train.optimizer`: `Adam` needs what it takes in brackets, `Adam(..)`
        optimizer: Adam,
                   ^^^^"#,
    ),
    (
        "Adam(",
        "Adam(rate: 1, ",
        r#"kinds.ron:13:25: `train.optimizer` has no field `rate`; known: `learning_rate`, `beta1`, `beta2`, `epsilon`
        optimizer: Adam(rate: 1, learning_rate: 0.05),
                        ^^^^"#,
    ),
    (
        "activation: Tanh",
        "activation: relu",
        r#"kinds.ron:10:44: `model.activation` cannot be `relu`; did you mean `Relu`?
    model: Mlp(layers: [8, 3], activation: relu),
                                           ^^^^"#,
    ),
    (
        "activation: Tanh",
        r#"activation: "Tanh""#,
        r#"kinds.ron:10:44: names stand without quotes
    model: Mlp(layers: [8, 3], activation: "Tanh"),
                                           ^^^^^^"#,
    ),
    (
        "[8, 3]",
        "(8, 3)",
        r#"kinds.ron:10:24: `model.layers` takes a list in square brackets, not `(8, 3)`
    model: Mlp(layers: (8, 3), activation: Tanh),
                       ^"#,
    ),
    (
        "[8, 3]",
        "[8 3]",
        r#"kinds.ron:10:26: a comma is missing after this
    model: Mlp(layers: [8 3], activation: Tanh),
                         ^"#,
    ),
    (
        r#""kinds.csv""#,
        "kinds.csv",
        r#"kinds.ron:5:15: `data.file` takes a text in double quotes, not `kinds.csv`
        file: kinds.csv,
              ^^^^^^^^^"#,
    ),
    (
        r#""kinds.csv","#,
        r#""kinds.csv,"#,
        r#"kinds.ron:5:15: this text is not closed by a double quote
        file: "kinds.csv,
              ^"#,
    ),
    (
        r#""kinds.csv","#,
        r#""kinds.csv""#,
        r#"kinds.ron:5:26: a comma is missing after this
        file: "kinds.csv"
                         ^"#,
    ),
    (
        "Divide(2.0)",
        "Divide",
        r#"kinds.ron:7:18: `data.scaling`: `Divide` needs what it takes in brackets, `Divide(..)`
        scaling: Divide,
                 ^^^^^^"#,
    ),
    (
        "Divide(2.0)",
        "Standardise(2.0)",
        r#"kinds.ron:7:29: `data.scaling`: `Standardise` takes nothing in brackets
        scaling: Standardise(2.0),
                            ^"#,
    ),
    (
        "test_rows: 2",
        "test_rows = 2",
        r#"kinds.ron:8:19: a colon was expected: fields are written `name: value`
        test_rows = 2,
                  ^"#,
    ),
    (
        "test_rows: 2",
        r#"target: "x""#,
        r#"kinds.ron:8:9: `data` has the field `target` twice
        target: "x",
        ^^^^^^"#,
    ),
    (
        "data: (",
        "data: {",
        r#"kinds.ron:4:11: `data` takes fields in round brackets, `(name: value, ..)`
    data: {
          ^"#,
    ),
    (
        "\n    ),\n)\n",
        "\n    ),\n",
        r#"kinds.ron:2:1: the bracket of the scene is never closed
(
^"#,
    ),
    (
        "\n    ),\n)\n",
        "\n    ),\n))\n",
        r#"kinds.ron:17:2: nothing may follow the scene
))
 ^"#,
    ),
    (
        "(\n    seed",
        "/* (\n    seed",
        r#"kinds.ron:2:1: this comment is never closed
/* (
^^"#,
    ),
    (
        "(\n    seed",
        "Scen(\n    seed",
        r#"kinds.ron:2:1: `Scen` stands where `Scene`, or no name, was expected
Scen(
^^^^"#,
    ),
    (
        "seed: 7",
        "\tséed: 7",
        r#"kinds.ron:3:6: the scene has no field `séed`; did you mean `seed`?
     séed: 7,
     ^^^^"#,
    ),
];

/// The same for scenes that are well formed.
const WRONG_SENSE: &[(&str, &str, &str)] = &[
    (
        "learning_rate: 0.05",
        "learning_rate: -0.05",
        r#"kinds.ron:13:40: `train.optimizer.learning_rate` is -0.05: give a number above 0 that f32 can hold
        optimizer: Adam(learning_rate: -0.05),
                                       ^^^^^"#,
    ),
    (
        "learning_rate: 0.05",
        "learning_rate: 0.05, beta2: 1.0",
        r#"kinds.ron:13:53: `train.optimizer.beta2` is 1: give a number from 0 up to, not including, 1
        optimizer: Adam(learning_rate: 0.05, beta2: 1.0),
                                                    ^^^"#,
    ),
    (
        "Adam(learning_rate: 0.05)",
        "Sgd(learning_rate: 0.05, momentum: 1.5)",
        r#"kinds.ron:13:55: `train.optimizer.momentum` is 1.5: give a number from 0 up to, not including, 1
        optimizer: Sgd(learning_rate: 0.05, momentum: 1.5),
                                                      ^^^"#,
    ),
    (
        "[8, 3]",
        "[]",
        r#"kinds.ron:10:24: `model.layers` is empty: give at least the width of the output
    model: Mlp(layers: [], activation: Tanh),
                       ^^"#,
    ),
    (
        "[8, 3]",
        "[0, 3]",
        r#"kinds.ron:10:25: `model.layers[0]` is 0: a layer is from 1 to 1048576 wide
    model: Mlp(layers: [0, 3], activation: Tanh),
                        ^"#,
    ),
    (
        "[8, 3]",
        "[8, 1]",
        r#"kinds.ron:10:28: `model.layers[1]` is 1: `CrossEntropy` needs the number of classes here, at least 2
    model: Mlp(layers: [8, 1], activation: Tanh),
                           ^"#,
    ),
    (
        "[8, 3]",
        "[1000000, 1000000, 3]",
        r#"kinds.ron:10:24: `model.layers` makes a model of 1000007000003 parameters, where up to 268435456 can be trained
    model: Mlp(layers: [1000000, 1000000, 3], activation: Tanh),
                       ^^^^^^^^^^^^^^^^^^^^^"#,
    ),
    (
        "CrossEntropy",
        "Mse",
        r#"kinds.ron:10:28: `model.layers[1]` is 3: `Mse` has one target, so the last layer is 1 wide
    model: Mlp(layers: [8, 3], activation: Tanh),
                           ^"#,
    ),
    (
        "Divide(2.0)",
        "Divide(0)",
        r#"kinds.ron:7:18: `data.scaling` divides by 0: give a finite number other than 0
        scaling: Divide(0),
                 ^^^^^^^^^"#,
    ),
    (
        "Divide(2.0)",
        "Divide(1e-300)",
        r#"kinds.ron:7:18: `data.scaling` makes numbers that are too large for f32
        scaling: Divide(1e-300),
                 ^^^^^^^^^^^^^^"#,
    ),
    (
        "batch_rows: 4",
        "batch_rows: 0",
        r#"kinds.ron:14:21: `train.batch_rows` is 0: a step needs at least one row
        batch_rows: 0,
                    ^"#,
    ),
    (
        "epochs: 3",
        "epochs: 0",
        r#"kinds.ron:15:17: `train.epochs` is 0: train for at least one epoch
        epochs: 0,
                ^"#,
    ),
    (
        "test_rows: 2",
        "test_rows: 9",
        r#"kinds.ron:8:20: `data.test_rows` is 9, which leaves no row to train on: kinds.csv has 9
        test_rows: 9,
                   ^"#,
    ),
    (
        "kinds.csv",
        "kind.csv",
        r#"kinds.ron:5:15: `data.file` names kind.csv, which cannot be read: No such file or directory (os error 2)
        file: "kind.csv",
              ^^^^^^^^^^"#,
    ),
    (
        "kinds.csv",
        "",
        r#"kinds.ron:5:15: `data.file` is empty: give the path of a CSV file, from the scene file
        file: "",
              ^^"#,
    ),
    (
        r#"target: "kind""#,
        r#"target: "kid""#,
        r#"kinds.ron:6:17: `data.target` names the column `kid`, which kinds.csv does not have; did you mean `kind`?
        target: "kid",
                ^^^^^"#,
    ),
    (
        r#"target: "kind""#,
        r#"target: "species""#,
        r#"kinds.ron:6:17: `data.target` names the column `species`, which kinds.csv does not have; known: `x`, `y`, `kind`
        target: "species",
                ^^^^^^^^^"#,
    ),
    (
        "target",
        r#"inputs: Columns(["x", "kind"]), target"#,
        r#"kinds.ron:6:31: `data.inputs[1]` is the target, which the model must not be given
        inputs: Columns(["x", "kind"]), target: "kind",
                              ^^^^^^"#,
    ),
    (
        "target",
        r#"inputs: Columns(["x", "y", "x"]), target"#,
        r#"kinds.ron:6:36: `data.inputs[2]` names the column `x` a second time
        inputs: Columns(["x", "y", "x"]), target: "kind",
                                   ^^^"#,
    ),
    (
        "target",
        r#"inputs: Columns(["x", "z"]), target"#,
        r#"kinds.ron:6:31: `data.inputs[1]` names the column `z`, which kinds.csv does not have; known: `x`, `y`, `kind`
        inputs: Columns(["x", "z"]), target: "kind",
                              ^^^"#,
    ),
    (
        "target",
        "inputs: Columns([]), target",
        r#"kinds.ron:6:17: `data.inputs` names no column: the model needs at least one
        inputs: Columns([]), target: "kind",
                ^^^^^^^^^^^"#,
    ),
];

#[test]
fn a_scene_of_wrong_form_is_shown_where_it_is_wrong() {
    for (from, to, wanted) in WRONG_FORM {
        assert_eq!(Folder::new(edited(SCENE, from, to), DATA).complaint(), *wanted);
    }
}

#[test]
fn a_scene_that_makes_no_sense_is_shown_where_it_does_not() {
    for (from, to, wanted) in WRONG_SENSE {
        assert_eq!(Folder::new(edited(SCENE, from, to), DATA).complaint(), *wanted);
    }
}

#[test]
fn a_scene_that_is_not_there_or_no_text_is_said_to_be_so() {
    let folder = Folder::new(b"(\n    seed: \xff)", DATA);
    assert_eq!(folder.complaint(), "kinds.ron:2:11: this byte is not UTF-8 text\n    seed: \u{fffd}\n          ^");
    let error = entigrad::scene::load(folder.path("kind.ron")).unwrap_err();
    assert!(error.is_in_scene());
    let wanted = "kind.ron: the scene cannot be read: No such file or directory (os error 2)";
    assert_eq!(folder.without_folder(&error.to_string()), wanted);
}

#[test]
fn a_scene_with_any_piece_cut_out_or_doubled_is_refused_or_taken_without_a_panic() {
    let folder = Folder::new(SCENE, DATA);
    let path = folder.path("kinds.ron");
    for start in (0..SCENE.len()).step_by(3) {
        for length in [1, 2, 7] {
            let (before, rest) = SCENE.split_at(start);
            let (piece, after) = rest.split_at(length.min(rest.len()));
            for text in [format!("{before}{after}"), format!("{before}{piece}{piece}{after}"), before.to_owned()] {
                std::fs::write(&path, &text).unwrap();
                if let Err(error) = folder.load() {
                    assert!(error.to_string().contains("kinds.ron:"), "{error}");
                }
            }
        }
    }
}

#[test]
fn a_file_that_is_no_scene_is_refused_at_once_however_long_it_is() {
    let table = format!("a,b,digit\n{}", "0,1.25,9\n".repeat(100_000));
    let brackets = ["(", "[", "{"].map(|bracket| bracket.repeat(1 << 20));
    let too_long = format!("{table}{table}");
    let clock = std::time::Instant::now();
    for text in [&table].into_iter().chain(&brackets).chain([&too_long]) {
        let folder = Folder::new(text, DATA);
        assert!(folder.load().unwrap_err().to_string().contains("kinds.ron:1:"), "of {} bytes", text.len());
    }
    // In linear time this takes milliseconds; a minute is far from both that and what a quadratic walk takes.
    assert!(clock.elapsed().as_secs() < 60);
}
