// SPDX-License-Identifier: Apache-2.0

// Package live tests package cpython on running Python programs, which know their own calls. It has tests only.
package live
