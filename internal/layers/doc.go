// SPDX-License-Identifier: Apache-2.0

// Package layers holds the order of this module's packages, by a test. It says what a package may import, where
// unsafe and raw system calls may stand, and what depends on nothing but the standard library. It has no other
// content.
package layers
