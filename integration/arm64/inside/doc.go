// SPDX-License-Identifier: Apache-2.0

// Package inside holds the tests that run in the emulated machine: prywalk looks at programs whose call
// chains are known, and every stack must be exactly right.
//
// The machine has no compilers. The programs are made beforehand and lie in the directory that the
// environment variable PRYWALK_PROGRAMS names; without it there is nothing to test.
package inside
