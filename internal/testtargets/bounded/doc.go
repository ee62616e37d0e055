// SPDX-License-Identifier: Apache-2.0

// Package bounded has waits of tests that end by themselves: a receive and commands. What does not come in time is
// named in the error. Without it such a wait would end by go test's time limit, which ends all tests of the package.
package bounded
