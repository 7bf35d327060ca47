//! Data that are wrong: file, line and column are then the CSV file's.

use super::{DATA, Folder, SCENE, edited};

/// What is replaced in the data, by what, and what is then said.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "1,1,2\n",
        "1,1\n",
        r#"kinds.csv:4:3: the row has 2 cells, where the first line names 3 columns
1,1
  ^"#,
    ),
    (
        "1,1,2\n",
        "1,1,2,5\n",
        r#"kinds.csv:4:7: the row has 4 cells, where the first line names 3 columns
1,1,2,5
      ^"#,
    ),
    (
        "1,1,2\n",
        "1,,2\n",
        r#"kinds.csv:4:3: column `y`: the cell is empty: a number is needed here
1,,2
  ^"#,
    ),
    (
        "1,1,2\n",
        "1,one,2\n",
        r#"kinds.csv:4:3: column `y`: `one` is not a number
1,one,2
  ^^^"#,
    ),
    (
        "1,1,2\n",
        "1,inf,2\n",
        r#"kinds.csv:4:3: column `y`: a finite number is needed here
1,inf,2
  ^^^"#,
    ),
    (
        "1,1,2\n",
        "1, NaN,2\n",
        r#"kinds.csv:4:3: column `y`: a finite number is needed here
1, NaN,2
  ^^^^"#,
    ),
    (
        "1,1,2\n",
        "1,1,3\n",
        r#"kinds.csv:4:5: column `kind`: `3` is no class: the last layer is 3 wide, so classes are 0 to 2
1,1,3
    ^"#,
    ),
    (
        "1,1,2\n",
        "1,1,-1\n",
        r#"kinds.csv:4:5: column `kind`: `-1` is no class: the last layer is 3 wide, so classes are 0 to 2
1,1,-1
    ^^"#,
    ),
    (
        "1,1,2\n",
        "1,1,1.5\n",
        r#"kinds.csv:4:5: column `kind`: `1.5` is no class: the last layer is 3 wide, so classes are 0 to 2
1,1,1.5
    ^^^"#,
    ),
    (
        "1,1,2\n",
        "1,1,cat\n",
        r#"kinds.csv:4:5: column `kind`: `cat` is not a number
1,1,cat
    ^^^"#,
    ),
    (
        "1,1,2\n",
        "\"1\",\"a,b\",2\n",
        r#"kinds.csv:4:5: column `y`: `a,b` is not a number
"1","a,b",2
    ^^^^^"#,
    ),
    (
        "x,y,kind",
        "x,x,kind",
        r#"kinds.csv:1:3: the column name `x` stands twice
x,x,kind
  ^"#,
    ),
    (
        "x,y,kind",
        "x;y;kind",
        r#"kinds.csv:2:3: the row has 3 cells, where the first line names 1 columns
0,1,0
  ^"#,
    ),
    (
        "0,1,0\n",
        "0,1,0\r\n\r\n7,x,1\r\n",
        r#"kinds.csv:4:3: column `y`: `x` is not a number
7,x,1
  ^"#,
    ),
    (
        "1,1,2\n",
        "1,\"1,2\n",
        r#"kinds.csv:4:3: the row has 2 cells, where the first line names 3 columns
1,"1,2
  ^^^^"#,
    ),
    (
        DATA,
        "",
        r#"kinds.csv:1:1: the file is empty: it begins with a line of column names, then rows

^"#,
    ),
    (
        DATA,
        "x,y,kind\n",
        r#"kinds.csv:1:9: no row follows the column names
x,y,kind
        ^"#,
    ),
    (
        DATA,
        "\n\n",
        r#"kinds.csv:1:1: the file is empty: it begins with a line of column names, then rows

^"#,
    ),
    (
        DATA,
        "kind\n0\n1\n2\n",
        r#"kinds.ron:6:17: `data.target` is the only column of kinds.csv: no input is left
        target: "kind",
                ^^^^^^"#,
    ),
];

#[test]
fn wrong_data_are_shown_where_they_are_wrong() {
    for (from, to, wanted) in WRONG {
        assert_eq!(Folder::new(SCENE, edited(DATA, from, to)).complaint(), *wanted);
    }
}

#[test]
fn data_that_are_no_text_are_said_to_be_so() {
    let complaint = Folder::new(SCENE, b"x,y,kind\n0,1,\xff\n").complaint();
    assert_eq!(complaint, "kinds.csv:2:5: this byte is not UTF-8 text\n0,1,\u{fffd}\n    ^");
}

#[test]
fn of_a_long_line_only_what_is_around_the_place_is_shown() {
    let names: Vec<String> = (0..99).map(|column| format!("c{column}")).collect();
    let row = |cell: &str| {
        let cells: Vec<&str> = (0..99).map(|column| if column == 70 { cell } else { "3.25" }).collect();
        format!("{},1\n", cells.join(","))
    };
    let data = format!("{},kind\n{}{}", names.join(","), row("1").repeat(2), row("wide"));
    let wanted = r#"kinds.csv:4:351: column `c70`: `wide` is not a number
…3.25,3.25,3.25,3.25,3.25,3.25,3.25,3.25,3.25,3.25,wide,3.25,3.25,3.25,3.25,3.25,3.25,3.25,3.25,3.25,3.25,3.25,3.25,3.25,…
                                                   ^^^^"#;
    assert_eq!(Folder::new(SCENE, data).complaint(), wanted);
}

#[test]
fn a_word_that_is_too_long_is_not_repeated() {
    let complaint = Folder::new(SCENE, edited(DATA, "1,1,2", &format!("1,{},2", "x".repeat(50)))).complaint();
    assert!(complaint.starts_with("kinds.csv:4:3: column `y`: this is not a number\n"), "{complaint}");
}
