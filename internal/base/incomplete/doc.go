// SPDX-License-Identifier: Apache-2.0

// Package incomplete names stacks whose walk ended early, sums their time, and has remedies by reason.
package incomplete
