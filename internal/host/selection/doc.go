// SPDX-License-Identifier: Apache-2.0

// Package selection chooses processes of the whole machine: all, or by control group, systemd unit, user, or names. A
// [Finder] is called repeatedly: it reads young processes each time, older ones once in rereadTurns calls, and of
// selected ones at most the start time.
package selection
