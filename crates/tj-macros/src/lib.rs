//! `#[fused]`: a function over lazy tensors becomes one over tensors.
//!
//! What this layer knows: the syntax of Rust functions. What it must never know: anything of the compiler but the names
//! `Defer`, `Compute`, `Error`, `compute` and `compute_with` of the crate `tensorjit`, which tests the attribute.

#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Expr, FnArg, ItemFn, Pat, ReturnType, Token, parse_macro_input};

/// Makes a function over lazy tensors take data, and give results.
///
/// Each parameter of type `T` takes whatever defers to `T`: a tensor for a `LazyTensor`, a tuple of tensors for a tuple of
/// lazy ones; numbers and lazy tensors are taken as they are. What the function returns is computed: a tensor for a lazy
/// tensor, a tuple for a tuple, in a `Result`. The scheduler is the one that applies where and when the function is
/// called, or the value of `#[fused(scheduler = ...)]`, evaluated at each call.
#[proc_macro_attribute]
pub fn fused(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(attribute as Options);
    let function = parse_macro_input!(item as ItemFn);
    expand(&options, &function).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// What stands in the parentheses of the attribute.
#[derive(Default)]
struct Options {
    scheduler: Option<Expr>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Options> {
        let mut options = Options::default();
        while !input.is_empty() {
            let name: syn::Ident = input.parse()?;
            if name != "scheduler" || options.scheduler.is_some() {
                return Err(syn::Error::new(name.span(), "fused takes one option: `scheduler = ...`"));
            }
            input.parse::<Token![=]>()?;
            options.scheduler = Some(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn expand(options: &Options, function: &ItemFn) -> syn::Result<Tokens> {
    let signature = &function.sig;
    let refuse = |span, why: &str| Err(syn::Error::new(span, format!("a fused function {why}")));
    if let Some(token) = &signature.asyncness {
        return refuse(token.span(), "is not async");
    }
    if let Some(token) = &signature.constness {
        return refuse(token.span(), "is not const");
    }
    if let Some(token) = &signature.unsafety {
        return refuse(token.span(), "is not unsafe");
    }
    if let Some(abi) = &signature.abi {
        return refuse(abi.span(), "has no ABI of its own");
    }
    if let Some(dots) = &signature.variadic {
        return refuse(dots.span(), "takes so many arguments as it names");
    }
    if let Some(first) = signature.generics.params.first() {
        return refuse(first.span(), "has no generic parameters");
    }
    let ReturnType::Type(_, output) = &signature.output else {
        return refuse(signature.ident.span(), "returns what it computes");
    };
    let (mut outer, mut generics, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for (position, input) in signature.inputs.iter().enumerate() {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => return refuse(receiver.span(), "is not a method"),
        };
        outer.push(if let Pat::Ident(name) = &*typed.pat {
            name.ident.clone()
        } else {
            format_ident!("argument_{position}")
        });
        generics.push(format_ident!("__Argument{position}"));
        types.push(&typed.ty);
    }
    let (attributes, visibility, name) = (&function.attrs, &function.vis, &signature.ident);
    let (inner, body, where_clause) = (&signature.inputs, &function.block, &signature.generics.where_clause);
    let run = match &options.scheduler {
        None => quote!(::tensorjit::compute(__result)),
        Some(scheduler) => {
            quote_spanned!(scheduler.span()=> ::tensorjit::compute_with(__result, &(#scheduler)))
        }
    };
    Ok(quote! {
        #(#attributes)*
        #[track_caller]
        #visibility fn #name<#(#generics: ::tensorjit::Defer<Lazy = #types>),*>(
            #(#outer: #generics),*
        ) -> ::std::result::Result<<#output as ::tensorjit::Compute>::Output, ::tensorjit::Error>
        #where_clause
        {
            fn __lazy(#inner) -> #output #body
            let __result = __lazy(#(::tensorjit::Defer::defer(#outer)),*);
            #run
        }
    })
}
