// SPDX-License-Identifier: Apache-2.0

// Package inside has the tests that run in the emulated machine on programs with known call chains. The programs are
// built on the host, into the directory of PRYWALK_PROGRAMS; without it the tests are skipped.
package inside
