//! Operators: how they are written and how tightly they bind.

/// A prefix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `+`
    Pos,
    /// `~`
    Invert,
}

impl UnaryOp {
    /// How it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Pos => "+",
            UnaryOp::Invert => "~",
        }
    }
}

/// An infix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `&`
    And,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Rem,
    /// `@`
    MatMul,
    /// `**`
    Pow,
}

impl BinaryOp {
    /// Every operator, loosest first.
    pub const ALL: [BinaryOp; 19] = {
        use BinaryOp as B;
        [
            B::Lt,
            B::Le,
            B::Gt,
            B::Ge,
            B::Eq,
            B::Ne,
            B::Or,
            B::Xor,
            B::And,
            B::Shl,
            B::Shr,
            B::Add,
            B::Sub,
            B::Mul,
            B::Div,
            B::FloorDiv,
            B::Rem,
            B::MatMul,
            B::Pow,
        ]
    };

    /// How it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::And => "&",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Rem => "%",
            BinaryOp::MatMul => "@",
            BinaryOp::Pow => "**",
        }
    }

    /// How tightly it binds, as in Python.
    #[must_use]
    pub fn precedence(self) -> Precedence {
        match self {
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne => {
                Precedence::Comparison
            }
            BinaryOp::Or => Precedence::Or,
            BinaryOp::Xor => Precedence::Xor,
            BinaryOp::And => Precedence::And,
            BinaryOp::Shl | BinaryOp::Shr => Precedence::Shift,
            BinaryOp::Add | BinaryOp::Sub => Precedence::Sum,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Rem | BinaryOp::MatMul => {
                Precedence::Product
            }
            BinaryOp::Pow => Precedence::Power,
        }
    }
}

/// How tightly a form binds, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precedence {
    /// `<`, which does not chain.
    Comparison,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `&`
    And,
    /// `<<`
    Shift,
    /// `+`
    Sum,
    /// `*`
    Product,
    /// `-x`
    Unary,
    /// `**`, which groups to the right, over a unary right side.
    Power,
    /// Names, literals, brackets, and `x.T`, `x[0]`, `x.sum()` over them.
    Postfix,
}

impl Precedence {
    /// The loosest form that may stand right of an operator that groups to the left.
    #[must_use]
    pub fn tighter(self) -> Precedence {
        match self {
            Precedence::Comparison => Precedence::Or,
            Precedence::Or => Precedence::Xor,
            Precedence::Xor => Precedence::And,
            Precedence::And => Precedence::Shift,
            Precedence::Shift => Precedence::Sum,
            Precedence::Sum => Precedence::Product,
            Precedence::Product => Precedence::Unary,
            Precedence::Unary => Precedence::Power,
            Precedence::Power | Precedence::Postfix => Precedence::Postfix,
        }
    }
}

/// How an index-notation statement combines the values that meet at one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EinopOp {
    /// `=`: nothing meets.
    Assign,
    /// `+=`
    Add,
    /// `*=`
    Mul,
    /// `min=`
    Min,
    /// `max=`
    Max,
    /// `|=`
    Or,
    /// `&=`
    And,
    /// `^=`
    Xor,
}

impl EinopOp {
    /// Every operator.
    pub const ALL: [EinopOp; 8] = [
        EinopOp::Assign,
        EinopOp::Add,
        EinopOp::Mul,
        EinopOp::Min,
        EinopOp::Max,
        EinopOp::Or,
        EinopOp::And,
        EinopOp::Xor,
    ];

    /// How it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            EinopOp::Assign => "=",
            EinopOp::Add => "+=",
            EinopOp::Mul => "*=",
            EinopOp::Min => "min=",
            EinopOp::Max => "max=",
            EinopOp::Or => "|=",
            EinopOp::And => "&=",
            EinopOp::Xor => "^=",
        }
    }
}
