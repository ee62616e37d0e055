// SPDX-License-Identifier: Apache-2.0

// Package live tests package ruby on running Ruby programs, which record their own calls. It has tests only.
package live
