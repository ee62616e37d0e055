// SPDX-License-Identifier: Apache-2.0

// Package nineprograms checks that the first lines of reports and tables of waits have a function of the program's own
// author. ask.sh is run by hand, as it installs servers and languages; its plain part is a test.
package nineprograms
