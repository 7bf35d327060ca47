//! Tensors outside graphs: storage, copies, printing, nalgebra.

use entigrad::prelude::*;
use nalgebra::{DMatrix, Matrix2x3, Point3, Quaternion, Vector3};

#[test]
fn a_clone_shares_storage_until_one_is_written() {
    let first = Tensor::from([1.0_f32, 2.0]);
    let mut second = first.clone();
    assert!(second.is_same(&first));
    second.elements_mut::<f32>().unwrap()[0] = 5.0;
    assert_eq!((first, second), (Tensor::from([1.0_f32, 2.0]), Tensor::from([5.0_f32, 2.0])));
}

#[test]
fn a_tensor_of_many_megabytes_is_as_any_other() {
    let count = 10_000_000;
    let mut x = Tensor::zeros(DType::F32, &[count]).unwrap();
    assert!(x.elements::<f32>().unwrap().iter().all(|element| *element == 0.0));
    assert_eq!(x.bytes().as_ptr().addr() % 64, 0);
    x.elements_mut::<f32>().unwrap()[count - 1] = 1.0;
    let held = x.clone();
    x.elements_mut::<f32>().unwrap()[0] = 2.0;
    let ends = |x: &Tensor| [0, count - 1].map(|place| x.elements::<f32>().unwrap()[place]);
    assert_eq!((ends(&held), ends(&x)), ([0.0, 1.0], [2.0, 1.0]));
}

#[test]
fn storage_is_aligned_to_a_cache_line() {
    for length in [1, 3, 17, 1000] {
        let tensor = Tensor::zeros(DType::F64, &[length]).unwrap();
        assert_eq!(tensor.elements::<f64>().unwrap().as_ptr() as usize % 64, 0);
    }
}

#[test]
fn a_tensor_prints_its_spec_and_first_elements() {
    assert_eq!(Tensor::from([[1.0_f32, 2.5], [-0.0, f32::NAN]]).to_string(), "f32[2, 2] [1, 2.5, -0, NaN]");
    assert_eq!(Tensor::from([true, false]).to_string(), "bool[2] [true, false]");
    assert_eq!(Tensor::from(7_i32).to_string(), "i32[] [7]");
    let many = Tensor::from((0..100).collect::<Vec<i32>>());
    assert_eq!(many.to_string(), "i32[100] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …]");
}

#[test]
fn casts_round_saturate_and_keep_what_they_can() {
    let numbers = Tensor::from([1.9_f64, -1.9, 1e300, f64::NAN, 0.0]);
    assert_eq!(numbers.cast(DType::I32), Tensor::from([1_i32, -1, i32::MAX, 0, 0]));
    assert_eq!(numbers.cast(DType::Bool), Tensor::from([true, true, true, true, false]));
    assert_eq!(Tensor::from(0.1_f64).cast(DType::F32), Tensor::from(0.1_f32));
    assert_eq!(Tensor::from(i32::MAX).cast(DType::F64), Tensor::from(2147483647.0_f64));
}

#[test]
fn nalgebra_is_viewed_without_a_copy_and_taken_with_one() {
    let tensor = Tensor::from([[1.0_f64, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let view = tensor.as_matrix::<f64>().unwrap();
    assert_eq!((view.shape(), view[(0, 2)], view[(1, 0)]), ((2, 3), 3.0, 4.0));
    assert_eq!(view.as_ptr(), tensor.elements::<f64>().unwrap().as_ptr());
    let matrix = Matrix2x3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
    assert_eq!(tensor.to_matrix::<f64>().unwrap(), DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(Tensor::from(&matrix), tensor);
    assert_eq!(Tensor::from(&tensor.to_matrix::<f64>().unwrap()), tensor);
    assert_eq!(Tensor::from(&Vector3::new(1.0_f32, 2.0, 3.0)), Tensor::from([[1.0_f32], [2.0], [3.0]]));
    assert_eq!(Tensor::from(&Point3::new(1.0_f32, 2.0, 3.0)), Tensor::from([1.0_f32, 2.0, 3.0]));
    assert_eq!(Tensor::from(&Quaternion::new(4.0_f64, 1.0, 2.0, 3.0)), Tensor::from([1.0_f64, 2.0, 3.0, 4.0]));
    assert_eq!(Tensor::from([1.0_f32, 2.0]).to_vector::<f32>().unwrap().as_slice(), [1.0, 2.0]);
    assert!(Tensor::from([1.0_f32]).as_matrix::<f32>().is_err());
    for shape in [[0, 3], [3, 0], [0, 0]] {
        let empty = Tensor::zeros(DType::F32, &shape).unwrap();
        assert_eq!(empty.as_matrix::<f32>().unwrap().shape(), (shape[0], shape[1]));
        assert_eq!(empty.to_matrix::<f32>().unwrap().shape(), (shape[0], shape[1]));
    }
}
