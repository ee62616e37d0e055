// SPDX-License-Identifier: Apache-2.0

// Package incomplete is about stacks whose walk ended early: the outermost frame that marks them, the share of time
// with complete ones, why walks ended, and what to do.
package incomplete
