// Many spheres that mirror each other, with soft shadows.
#version 3.7;
global_settings { assumed_gamma 1.0 max_trace_level 6 }
camera { location <0, 4, -9> look_at <0, 0, 0> }
light_source { <6, 9, -7> color rgb 1 area_light <1, 0, 0>, <0, 0, 1>, 4, 4 adaptive 1 jitter }
plane { y, -1 pigment { checker color rgb 0.2, color rgb 0.9 } finish { reflection 0.2 } }
#declare I = 0;
#while (I < 200)
  sphere {
    <4 * sin(I * 0.7), mod(I * 0.37, 3) - 0.5, 4 * cos(I * 0.9)>, 0.4
    pigment { marble turbulence 0.8 color_map { [0 color rgb <0.1, 0.2, 0.6>] [1 color rgb <1, 0.9, 0.7>] } }
    normal { bumps 0.3 scale 0.1 }
    finish { phong 0.8 reflection 0.35 }
  }
  #declare I = I + 1;
#end

// SPDX-License-Identifier: Apache-2.0
