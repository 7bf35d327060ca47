//! Scenes that are right: their bits, their files, what they print.

use std::fs;
use std::path::{Path, PathBuf};

use entigrad::prelude::Tensor;
use entigrad::scene::{Inspected, Options, SceneError, Trained, inspect, load, train};
use safetensors::{Dtype, SafeTensors};

use super::{DATA, Folder, SCENE, edited, names};

fn digits() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/scenes/digits.ron")
}

/// Trains the digits with so many threads, with files in a folder of their own.
fn train_digits(epochs: u32, seed: u64, threads: usize) -> (Trained, Vec<Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { epochs: Some(epochs), seed: Some(seed), out: Some(folder.path().join("out")) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let scene = load(digits()).unwrap();
    let trained = pool.install(|| train(&scene, &options, &mut Vec::new())).unwrap();
    let files = trained.files.iter().map(|file| fs::read(file).unwrap()).collect();
    (trained, files)
}

fn loss_bits(trained: &Trained) -> Vec<(u64, u64)> {
    let bits = |test: &entigrad::scene::TestMetrics| test.loss.to_bits();
    trained.epochs.iter().map(|epoch| (epoch.train_loss.to_bits(), bits(epoch.test.as_ref().unwrap()))).collect()
}

#[test]
fn a_training_has_the_same_bits_again_and_with_any_number_of_threads() {
    let (first, first_files) = train_digits(2, 1, 1);
    assert_eq!(first.step_count, 2 * 24);
    for threads in [1, 2, 7] {
        let (again, files) = train_digits(2, 1, threads);
        assert_eq!(loss_bits(&again), loss_bits(&first), "{threads} threads");
        for ((name, wanted), (_, given)) in first.parameters.iter().zip(&again.parameters) {
            assert_eq!(given.bytes(), wanted.bytes(), "{name} with {threads} threads");
        }
        assert!(files == first_files, "the files differ with {threads} threads");
    }
    let (other, _) = train_digits(2, 2, 1);
    assert_ne!(loss_bits(&other), loss_bits(&first));
}

#[test]
fn the_digits_are_read_after_twenty_epochs() {
    let (trained, _) = train_digits(20, 1, 1);
    let test = trained.epochs.last().unwrap().test.unwrap();
    assert_eq!(test.row_count, 297);
    assert!(test.accuracy().unwrap() >= 0.88, "{test:?}");
}

#[test]
fn parameters_are_written_as_safetensors_and_metrics_as_a_table() {
    let folder = Folder::new(SCENE, DATA);
    let (trained, printed) = folder.train().unwrap();
    assert_eq!(names(&folder.path("out")), ["metrics.csv", "parameters.safetensors"]);

    let bytes = fs::read(folder.path("out/parameters.safetensors")).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let about = header.metadata().as_ref().unwrap();
    let wanted = [("scene", "kinds"), ("seed", "7"), ("epochs", "3"), ("dims", "2,8,3")];
    assert_eq!(about.len(), wanted.len());
    assert!(wanted.iter().all(|(key, value)| about[*key] == *value), "{about:?}");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let shapes: [(&str, &[usize]); 4] =
        [("layers/0/w", &[2, 8]), ("layers/0/b", &[8]), ("layers/1/w", &[8, 3]), ("layers/1/b", &[3])];
    assert_eq!(file.len(), shapes.len());
    for ((name, shape), (known, value)) in shapes.into_iter().zip(&trained.parameters) {
        let tensor = file.tensor(name).unwrap();
        assert_eq!((tensor.dtype(), tensor.shape(), name), (Dtype::F32, shape, &**known));
        assert_eq!(tensor.data(), value.bytes());
    }

    let table = fs::read_to_string(folder.path("out/metrics.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!((lines[0], lines.len()), ("epoch,train_loss,test_loss,test_accuracy", 4));
    let cells: Vec<f64> = lines[3].split(',').map(|cell| cell.parse().unwrap()).collect();
    let (last, test) = (trained.epochs[2], trained.epochs[2].test.unwrap());
    assert_eq!(cells, [3.0, last.train_loss, test.loss, test.accuracy().unwrap()]);

    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "kinds: 7 rows to train on, 2 to test; 2-8-3, 51 parameters; seed 7");
    assert!(lines[1].starts_with("epoch 1/3  train loss 1."), "{}", lines[1]);
    assert!(lines[4].starts_with("kinds: train loss ") && lines[4].contains(" after 6 steps in "), "{}", lines[4]);
    assert_eq!(folder.without_folder(lines[5]), "wrote out/parameters.safetensors");
}

#[test]
fn defaults_are_what_the_schema_says() {
    let spelled = SCENE
        .replace("learning_rate: 0.05", "learning_rate: 0.05, beta1: 0.9, beta2: 0.999, epsilon: 1e-8")
        .replace("seed: 7", "seed: 0")
        .replace("scaling: Divide(2.0)", "scaling: Unscaled, inputs: AllOthers")
        .replace("Tanh", "Relu")
        .replace("test_rows: 2", "test_rows: 0");
    let short = SCENE
        .replace("    seed: 7,\n", "")
        .replace("        scaling: Divide(2.0),\n        test_rows: 2,\n", "")
        .replace(", activation: Tanh", "");
    let settings = |scene: &str| Folder::new(scene, DATA).load().unwrap().settings;
    assert_eq!(settings(&spelled), settings(&short));
    // A byte order mark, a name, and attributes that other RON readers need are no reason to refuse a scene.
    assert_eq!(
        settings(&format!("\u{feff}#![enable(implicit_some)]\n{}", edited(&short, "\n(\n", "\nScene(\n"))),
        settings(&short)
    );
}

#[test]
fn a_number_is_learnt_from_standardised_columns_without_test_rows() {
    let scene = r#"(
        data: (file: "kinds.csv", inputs: Columns(["x", "same"]), target: "y", scaling: Standardise),
        model: Mlp(layers: [1]),
        loss: Mse,
        train: (optimizer: Sgd(learning_rate: 0.1, momentum: 0.5), batch_rows: 8, epochs: 200),
    )"#;
    let folder = Folder::new(scene, "same,y,x\n5,1,100\n5,3,200\n5,5,300\n5,7,400\n");
    let (trained, printed) = folder.train().unwrap();
    // y is 4 in the middle, and its standard deviation is √5; what is constant says nothing.
    let parameter = |place: usize| trained.parameters[place].1.to_vec::<f32>().unwrap();
    assert!((parameter(0)[0] - 5.0_f32.sqrt()).abs() < 1e-4, "{:?}", parameter(0));
    assert!((parameter(1)[0] - 4.0).abs() < 1e-4, "{:?}", parameter(1));
    assert!(trained.epochs[199].train_loss < 1e-8);
    assert_eq!(trained.epochs[199].test, None);
    assert!(printed.lines().nth(1).unwrap().ends_with(char::is_numeric) && !printed.contains("test loss"));
    assert!(fs::read_to_string(folder.path("out/metrics.csv")).unwrap().lines().nth(1).unwrap().ends_with(",,"));
}

#[test]
fn a_training_that_diverges_says_so_and_leaves_nothing() {
    let wild = edited(&edited(SCENE, "Tanh", "Relu"), "Adam(learning_rate: 0.05)", "Sgd(learning_rate: 1e20)");
    let folder = Folder::new(&wild, DATA);
    let error = folder.train().map(|_| ()).unwrap_err();
    assert!(!error.is_in_scene());
    assert_eq!(
        error.to_string(),
        "scene `kinds`: the training loss is NaN in epoch 1; a smaller `train.optimizer.learning_rate` may help"
    );
    assert_eq!(folder.names(), ["kinds.csv", "kinds.ron"]);

    // One step spoils the parameters, and nothing looks at the loss again.
    let wild = wild.replace("1e20", "1e38").replace("Divide(2.0)", "Divide(0.01)");
    let short = wild.replace("epochs: 3", "epochs: 1").replace("batch_rows: 4", "batch_rows: 9");
    let folder = Folder::new(short.replace("test_rows: 2", "test_rows: 0"), DATA);
    let error = folder.train().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("the parameter `layers/0/w` is ") && error.contains(" in epoch 1; "), "{error}");

    // What was there stays as it was.
    fs::create_dir(folder.path("out")).unwrap();
    fs::write(folder.path("out/metrics.csv"), "of an earlier run").unwrap();
    folder.train().map(|_| ()).unwrap_err();
    assert_eq!(names(&folder.path("out")), ["metrics.csv"]);
    assert_eq!(fs::read_to_string(folder.path("out/metrics.csv")).unwrap(), "of an earlier run");
}

#[test]
fn files_that_cannot_be_written_are_found_out_before_the_work() {
    let folder = Folder::new(SCENE, DATA);
    fs::write(folder.path("out"), "a file where a folder should be").unwrap();
    let error = folder.train().map(|_| ()).unwrap_err();
    assert!(matches!(error, SceneError::Unwritable { .. }) && !error.is_in_scene());
    assert_eq!(folder.without_folder(&error.to_string()), "out: cannot be written: File exists (os error 17)");
}

#[test]
fn inspecting_a_scene_prints_its_graphs() {
    let mut printed = Vec::new();
    inspect(&Folder::new(SCENE, DATA).load().unwrap(), Inspected::Graphs, &mut printed).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    let heads: Vec<&str> = printed.lines().filter(|line| line.starts_with("function")).collect();
    assert_eq!(
        heads,
        [
            "function forward(f32[n, 2]) -> (f32[n, 3])",
            "function loss(f32[n, 2], i32[n]) -> (f32[])",
            "function adam step of loss(f32[n, 2], i32[n]) -> (f32[])",
        ]
    );
    assert_eq!(printed.matches("assign `layers/1/w`").count(), 1, "{printed}");
}

#[test]
fn inspecting_the_plans_of_a_scene_prints_them_for_a_batch() {
    let folder = Folder::new(SCENE, DATA);
    let mut printed = Vec::new();
    inspect(&folder.load().unwrap(), Inspected::Plans, &mut printed).unwrap();
    let printed = folder.without_folder(&String::from_utf8(printed).unwrap());
    let heads: Vec<&str> =
        printed.lines().filter(|line| line.starts_with("kinds: ") || line.starts_with("plan of")).collect();
    assert_eq!(
        heads,
        [
            "kinds: the forward pass",
            "plan of forward(f32[4, 2])",
            "kinds: the loss",
            "plan of loss(f32[4, 2], i32[4])",
            "kinds: one training step",
            "plan of adam step of loss(f32[4, 2], i32[4])",
        ]
    );
    // Calls are inlined, so that every node is one of the graph above; parameters are written where they are.
    assert!(!printed.contains("call `") && printed.contains("saved: "), "{printed}");
    assert_eq!(printed.matches(" = variable `layers/1/w` : ").count(), 4, "{printed}");
    assert_eq!(folder.names(), ["kinds.csv", "kinds.ron"]);
}

#[test]
fn weights_begin_within_the_limits_of_their_layer() {
    let folder = Folder::new(edited(SCENE, "learning_rate: 0.05", "learning_rate: 1e-30"), DATA);
    let (trained, _) = folder.train().unwrap();
    let greatest = |tensor: &Tensor| tensor.to_vec::<f32>().unwrap().into_iter().map(f32::abs).fold(0.0, f32::max);
    let limits = [(6.0_f32 / 10.0).sqrt(), 0.0, (6.0_f32 / 11.0).sqrt(), 0.0];
    for ((name, tensor), limit) in trained.parameters.iter().zip(limits) {
        let greatest = greatest(tensor);
        assert!(greatest <= limit + 1e-20 && greatest >= 0.7 * limit, "{name}: {greatest} of {limit}");
    }
}
