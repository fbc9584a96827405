// Starts Swagger UI. A file of its own, because the Content-Security-Policy forbids inline scripts.
"use strict";

(() => {
  const place = document.getElementById("description");
  const cookie = (name) =>
    document.cookie
      .split("; ")
      .filter((part) => part.startsWith(`${name}=`))
      .map((part) => decodeURIComponent(part.slice(name.length + 1)))[0];

  SwaggerUIBundle({
    url: place.dataset.url,
    domNode: place,
    deepLinking: true,
    validatorUrl: null,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    requestInterceptor: (request) => {
      if (!["GET", "HEAD", "OPTIONS"].includes((request.method || "GET").toUpperCase())) {
        request.headers["X-CSRFToken"] = cookie("csrftoken") || "";
      }
      return request;
    },
  });
})();
