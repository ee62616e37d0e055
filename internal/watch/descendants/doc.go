// SPDX-License-Identifier: Apache-2.0

// Package descendants accounts for child processes that end before they are tracked, by the kernel's records (package
// perfevents): [Table] has their programs and samples, and the nearest tracked ancestor. The caller's types stand for
// both.
package descendants
