// SPDX-License-Identifier: Apache-2.0

// Package nineprograms checks for programs of many kinds that the first lines of a report and of a table of waits have
// a function of the program's own author. ask.sh is run by hand, as it installs servers and languages; its plain part
// is a test.
package nineprograms
