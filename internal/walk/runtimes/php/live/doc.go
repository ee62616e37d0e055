// SPDX-License-Identifier: Apache-2.0

// Package live tests package php on running PHP programs, which record their own calls. It has tests only.
package live
