//! Products of matrices, batches and vectors, against the plain sums that define them.

use entigrad::prelude::*;
use entigrad::systems::structure::Structure;

/// Numbers that differ, between -1 and 1.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|place| ((place * 7919 + seed * 104_729) % 2003) as f64 / 1001.5 - 1.0).collect()
}

fn tensor(shape: &[usize], seed: usize) -> Tensor {
    Tensor::new(shape, &numbers(shape.iter().product(), seed)).unwrap()
}

/// What `body` gives for these arguments.
fn evaluate<A: Structure>(
    arguments: A,
    body: impl for<'t> Fn(Trace<'t>, A::Traced<'t>) -> Value<'t> + Send + Sync + 'static,
) -> Result<Tensor, Error> {
    let mut engine = Engine::new();
    let function = engine.function::<A, Tensor>("f", body);
    engine.call(function, arguments)
}

/// The product of batches with equal leading axes, by its definition.
fn plain(left: &Tensor, right: &Tensor) -> Vec<f64> {
    let (left_shape, right_shape) = (left.shape(), right.shape());
    let [.., rows, inner] = *left_shape else { panic!() };
    let columns = right_shape[right_shape.len() - 1];
    let batch: usize = left_shape[..left_shape.len() - 2].iter().product();
    let (left, right) = (left.to_vec::<f64>().unwrap(), right.to_vec::<f64>().unwrap());
    let mut product = Vec::new();
    for matrix in 0..batch {
        for row in 0..rows {
            for column in 0..columns {
                let term =
                    |k: usize| left[(matrix * rows + row) * inner + k] * right[(matrix * inner + k) * columns + column];
                product.push((0..inner).map(term).sum());
            }
        }
    }
    product
}

fn assert_near(given: &Tensor, shape: &[usize], wanted: &[f64]) {
    assert_eq!(given.shape(), shape);
    for (given, wanted) in given.to_vec::<f64>().unwrap().iter().zip(wanted) {
        assert!((given - wanted).abs() <= 1e-12 * wanted.abs().max(1.0), "{given} is not {wanted}");
    }
}

#[test]
fn products_of_every_size_are_the_sums_that_define_them() {
    // The last is an outer product that is traced as an elementwise one.
    for [rows, inner, columns] in [
        [3, 4, 5],
        [3, 0, 2],
        [0, 2, 3],
        [4, 1, 5],
        [1, 1, 1],
        [3, 7, 1],
        [1, 7, 3],
        [2, 300, 1],
        [1, 5, 1],
        [300, 1, 256],
    ] {
        for batch in [&[][..], &[2], &[2, 3], &[0]] {
            let shape = |rows, columns| [batch, &[rows, columns]].concat();
            let (left, right) = (tensor(&shape(rows, inner), 1), tensor(&shape(inner, columns), 2));
            let wanted = plain(&left, &right);
            let given = evaluate((left.clone(), right.clone()), |_, (x, y)| x.matmul(y)).unwrap();
            assert_near(&given, &shape(rows, columns), &wanted);
            // Operands that lie transposed.
            let transposed = |x: &Tensor| evaluate(x.clone(), |_, x| swapped(x)).unwrap();
            let (left_t, right_t) = (transposed(&left), transposed(&right));
            for (left, right, flags) in
                [(&left_t, &right, (true, false)), (&left, &right_t, (false, true)), (&left_t, &right_t, (true, true))]
            {
                let arguments = (left.clone(), right.clone());
                let given = evaluate(arguments, move |_, (x, y)| x.matmul_with(y, flags.0, flags.1)).unwrap();
                assert_near(&given, &shape(rows, columns), &wanted);
            }
        }
    }
}

/// The last two axes swapped.
fn swapped(x: Value<'_>) -> Value<'_> {
    let rank = x.shape().len();
    let mut axes: Vec<usize> = (0..rank).collect();
    axes.swap(rank - 2, rank - 1);
    x.transpose(&axes)
}

#[test]
fn leading_axes_broadcast_and_a_matrix_serves_a_whole_batch() {
    let product =
        |left: &Tensor, right: &Tensor| evaluate((left.clone(), right.clone()), |_, (x, y)| x.matmul(y)).unwrap();
    let (batch, matrix) = (tensor(&[2, 3, 4], 1), tensor(&[4, 5], 2));
    let flat = plain(&batch.reshaped(&[6, 4]).unwrap(), &matrix);
    assert_near(&product(&batch, &matrix), &[2, 3, 5], &flat);
    // [2, 1, 2, 3] · [4, 3, 2]: both are repeated.
    let (left, right) = (tensor(&[2, 1, 2, 3], 3), tensor(&[4, 3, 2], 4));
    let given = product(&left, &right);
    assert_eq!(given.shape(), [2, 4, 2, 2]);
    let given = given.to_vec::<f64>().unwrap();
    for outer in 0..2 {
        for inner in 0..4 {
            let left = left.rows(&[outer]).unwrap().reshaped(&[2, 3]).unwrap();
            let right = right.rows(&[inner]).unwrap().reshaped(&[3, 2]).unwrap();
            let at = (outer * 4 + inner) * 4;
            let part = Tensor::new(&[2, 2], &given[at..at + 4]).unwrap();
            assert_near(&part, &[2, 2], &plain(&left, &right));
        }
    }
}

#[test]
fn vectors_are_rows_on_the_left_and_columns_on_the_right() {
    let product =
        |left: &Tensor, right: &Tensor| evaluate((left.clone(), right.clone()), |_, (x, y)| x.matmul(y)).unwrap();
    let (vector, matrix) = (tensor(&[3], 1), tensor(&[3, 4], 2));
    let row = vector.reshaped(&[1, 3]).unwrap();
    assert_near(&product(&vector, &matrix), &[4], &plain(&row, &matrix));
    let (matrix, batch) = (tensor(&[4, 3], 3), tensor(&[2, 4, 3], 4));
    let column = vector.reshaped(&[3, 1]).unwrap();
    assert_near(&product(&matrix, &vector), &[4], &plain(&matrix, &column));
    assert_near(&product(&batch, &vector), &[2, 4], &plain(&batch.reshaped(&[8, 3]).unwrap(), &column));
    assert_near(&product(&vector, &tensor(&[3], 5)), &[], &plain(&row, &tensor(&[3, 1], 5)));
    let batch = tensor(&[2, 3, 4], 6);
    let rows = Tensor::new(&[2, 1, 3], &[numbers(3, 1), numbers(3, 1)].concat()).unwrap();
    assert_near(&product(&vector, &batch), &[2, 4], &plain(&rows, &batch));
}

#[test]
fn gradients_of_products_are_those_of_the_sums() {
    // Σ w·(x·y): dx = w·yᵀ, dy = xᵀ·w, summed over what was repeated.
    for [rows, inner, columns] in [[3, 4, 5], [3, 1, 4], [3, 4, 1], [1, 4, 3]] {
        let (x, y, w) = (tensor(&[2, rows, inner], 1), tensor(&[inner, columns], 2), tensor(&[2, rows, columns], 3));
        let mut engine = Engine::new();
        let weights = w.clone();
        let loss = engine.function::<(Tensor, Tensor), Tensor>("loss", move |t, (x, y)| {
            (x.matmul(y) * t.constant(weights.clone())).sum()
        });
        let gradient = engine.value_and_gradient_of_arguments(loss).unwrap();
        let (_, (dx, dy)) = engine.call(gradient, (x.clone(), y.clone())).unwrap();
        let flat = |x: &Tensor| x.reshaped(&[2 * rows, x.shape()[2]]).unwrap();
        let turned = |x: &Tensor| evaluate(x.clone(), |_, x| swapped(x)).unwrap();
        assert_near(&dx, &[2, rows, inner], &plain(&flat(&w), &turned(&y)));
        assert_near(&dy, &[inner, columns], &plain(&turned(&flat(&x)), &flat(&w)));
        // A product of two batches.
        let y = tensor(&[2, inner, columns], 4);
        let (_, (dx, dy)) = engine.call(gradient, (x.clone(), y.clone())).unwrap();
        assert_near(&dx, &[2, rows, inner], &plain(&w, &turned(&y)));
        assert_near(&dy, &[2, inner, columns], &plain(&turned(&x), &w));
    }
}

#[test]
fn the_batch_may_be_a_symbol() {
    let mut engine = Engine::new();
    let product = engine.function::<(Tensor, Tensor), Tensor>("product", |_, (x, y)| x.matmul(y));
    let spec = |rows: i64, columns: i64| {
        TensorSpec::new(DType::F64, [Dim::from("n"), Dim::from(rows as usize), Dim::from(columns as usize)])
    };
    engine.set_signature(product, [spec(2, 3), spec(3, 4)]).unwrap();
    for batch in [2, 5] {
        let (x, y) = (tensor(&[batch, 2, 3], batch), tensor(&[batch, 3, 4], 7));
        assert_near(&engine.call(product, (x.clone(), y.clone())).unwrap(), &[batch, 2, 4], &plain(&x, &y));
    }
    assert_eq!(engine.trace_count(product), 1);
    let error = engine.call(product, (tensor(&[2, 2, 3], 1), tensor(&[3, 3, 4], 1))).unwrap_err().to_string();
    assert!(error.contains("given 2 and 3 for the dim `n`"), "{error}");
}

#[test]
fn operands_that_do_not_fit_are_told() {
    let error = |left: &[usize], right: &[usize]| {
        evaluate((tensor(left, 1), tensor(right, 1)), |_, (x, y)| x.matmul(y)).unwrap_err().to_string()
    };
    for (left, right, told) in [
        (&[2, 3][..], &[4, 5][..], "inner lengths"),
        (&[2, 3], &[4], "inner lengths"),
        (&[3], &[4, 5], "inner lengths"),
        (&[2, 2, 3], &[3, 3, 4], "leading lengths"),
        (&[], &[2, 2], "rank 2 or more (matrices), not 0"),
    ] {
        let error = error(left, right);
        assert!(error.contains(told) && error.contains("matmul"), "{error}");
    }
}

#[test]
fn batches_have_the_same_bits_on_any_number_of_threads() {
    let results: Vec<Tensor> = [1, 2, 3, 7]
        .into_iter()
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let arguments = (tensor(&[40, 64, 48], 1), tensor(&[40, 48, 64], 2));
                evaluate(arguments, |_, (x, y)| x.matmul(y)).unwrap()
            })
        })
        .collect();
    assert!(results.iter().all(|result| result.bytes() == results[0].bytes()));
}

#[test]
fn what_follows_a_product_block_by_block_has_the_bits_of_what_follows_it_whole() {
    let narrow = |shape: &[usize], seed| {
        let numbers: Vec<f32> = numbers(shape.iter().product(), seed).iter().map(|number| *number as f32).collect();
        Tensor::new(shape, &numbers).unwrap()
    };
    let (x, w, b) = (narrow(&[160, 520], 1), narrow(&[520, 272], 2), narrow(&[272], 3));
    let product = evaluate((x.clone(), w.clone()), |_, (x, w)| x.matmul(w)).unwrap();
    let whole = evaluate((product, b.clone()), |_, (product, b)| (product + b).tanh()).unwrap();
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (x, w, b, whole) = (x.clone(), w.clone(), b.clone(), whole.clone());
        pool.install(move || {
            let mut engine = Engine::new();
            let model = engine.spawn_model("model");
            let variable = engine.variable(model, "w", w.clone()).unwrap();
            let layer = engine
                .method::<(Tensor, Tensor), Tensor>("layer", |_, model, (x, b)| (x.matmul(model.read("w")) + b).tanh());
            let arguments = (model, (x.clone(), b.clone()));
            assert_eq!(engine.call(layer, arguments.clone()).unwrap().bytes(), whole.bytes());
            let concrete = engine.concrete(layer, arguments.clone()).unwrap();
            assert!(engine.print_plan(concrete).unwrap().contains("followed"));
            // A step, whose update follows the product that is its gradient: w - 0.1 · dw.
            let loss = engine.function::<(ModelId, (Tensor, Tensor)), Tensor>("loss", move |t, (model, (x, b))| {
                t.call(layer, (model, (x, b))).square().sum()
            });
            let gradient = engine.value_and_gradient(loss).unwrap();
            let (_, gradients) = engine.call(gradient, arguments.clone()).unwrap();
            let dw = gradients.get(variable).unwrap().clone();
            let updated = evaluate((w, dw), |_, (w, dw)| w - dw * 0.1).unwrap();
            let trainer = engine.train(loss, arguments).with(Sgd::new(0.1)).spawn().unwrap();
            engine.run(trainer, 1).unwrap();
            assert_eq!(engine.value(variable).unwrap().bytes(), updated.bytes());
        });
    }
}
