/* The end of loops that use gaussian_lanes.h: its names are free again. */
#undef LANES
#undef TILE
#undef TILE_LANES
#undef TILES
#undef TILE_AT
#undef TRIANGLE
#undef TILED
#undef AT
