// SPDX-License-Identifier: Apache-2.0

// Package live tests package ruby on Ruby programs that run, which know their own calls, with all releases that are
// installed. It has tests only.
package live
