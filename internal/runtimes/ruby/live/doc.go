// SPDX-License-Identifier: Apache-2.0

// Package live tests package ruby against running Ruby programs that record their own calls, with all installed
// releases. It has tests only.
package live
