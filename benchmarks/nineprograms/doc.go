// SPDX-License-Identifier: Apache-2.0

// Package nineprograms asks programs of many kinds where their CPU time goes and what their sleepers wait for. It
// checks that a function of the program's own author stands in the first lines of the answer. ask.sh is run by
// hand, as it installs servers and languages; its plain part is a test.
package nineprograms
