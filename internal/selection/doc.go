// SPDX-License-Identifier: Apache-2.0

// Package selection chooses processes of the whole machine: all of them, those of a control group, of a systemd unit
// or of a user, and those with certain names. The choice changes while a recording runs: a [Finder] is called
// repeatedly, and reads only the processes that may have changed since.
package selection
