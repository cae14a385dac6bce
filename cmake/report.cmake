# The HTML report's page, made from report/html at build time, beside the compiler's work: only what embeds it waits for it.
set(REHEARSE_REPORT AUTO CACHE STRING "The HTML report: AUTO (where npm can fetch what it needs), ON or OFF")
set_property(CACHE REHEARSE_REPORT PROPERTY STRINGS AUTO ON OFF)

# rehearse_report_page(NAME): how to make the page, in the current build folder.
function(rehearse_report_page name)
  set(source "${PROJECT_SOURCE_DIR}/report/html")
  set(page "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  set(script "${PROJECT_SOURCE_DIR}/cmake/report_page.cmake")
  # The script lists what is in src itself, the folder included, whose date changes when a file comes or goes: a list made here
  # would have to be made again, and told of, at every start.
  add_custom_command(OUTPUT "${page}"
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/report_packages -DOUT=${page}
      -DMODE=${REHEARSE_REPORT} -P "${script}"
    DEPENDS "${source}/build.mjs" "${source}/page.html" "${source}/package.json" "${source}/package-lock.json" "${script}"
    DEPFILE "${page}.d" COMMENT "Making the HTML report's page" VERBATIM)
endfunction()
