// SPDX-License-Identifier: Apache-2.0

// Package namehints says what code without names is, and what would give it names: the words that the report and
// doctor share. A run-time system is known by the files that it maps.
package namehints
