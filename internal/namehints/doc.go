// SPDX-License-Identifier: Apache-2.0

// Package namehints explains code without names and incomplete stacks, each with the remedy, for report, top, dump and
// doctor. A run-time system is recognised by the files that it maps.
package namehints
