// SPDX-License-Identifier: Apache-2.0

// Package selection chooses processes of the whole machine: all, or those of a control group, a systemd unit, a user,
// or with certain names. The choice changes: a [Finder] is called repeatedly, and reads only processes that may have
// changed.
package selection
