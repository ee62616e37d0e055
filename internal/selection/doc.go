// SPDX-License-Identifier: Apache-2.0

// Package selection chooses processes of the whole machine: all, or by control group, systemd unit, user, or names. A
// [Finder] is called repeatedly, and reads only processes that may have changed.
package selection
